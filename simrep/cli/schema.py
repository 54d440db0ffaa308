"""``simrep schema``."""

from __future__ import annotations

from simrep.cli.output import print_json

__all__ = ["schema"]


def schema() -> None:
    """Print the JSON schema of scenario files, for editors that complete and check them.

    [bold]Example[/bold]

      simrep schema > scenario.schema.json
    """
    from simrep.scenario import json_schema

    print_json(json_schema())
