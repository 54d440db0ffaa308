"""Names that become names of files, and values of columns."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from simrep.errors import ScenarioError

__all__ = ["FileName"]


def _no_number(name: str) -> str:
    try:
        float(name)
    except ValueError:
        return name
    raise ScenarioError("", f"{name!r} is a number to those who read the data", f"x{name}")


FileName = Annotated[
    str, Field(min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9_+-]*$"), AfterValidator(_no_number)
]
