"""Scenario files: what they may say, reading them, and errors that help to put them right."""

from simrep.scenario.load import load, with_value, with_values
from simrep.scenario.schema import Scenario, json_schema

__all__ = ["Scenario", "json_schema", "load", "with_value", "with_values"]
