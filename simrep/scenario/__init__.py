"""Scenario files: what they may say, reading them, and errors that help to put them right."""

from simrep.scenario.schema import Scenario, json_schema, load, with_value, with_values

__all__ = ["Scenario", "json_schema", "load", "with_value", "with_values"]
