"""The command line. Commands import what they run when they run, so that help is instant."""

from simrep.cli.app import app, main

__all__ = ["app", "main"]
