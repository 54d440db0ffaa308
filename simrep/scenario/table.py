"""What every table of a scenario file has in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from simrep.errors import ScenarioError
from simrep.printable import unprintable

__all__ = [
    "Count",
    "Fraction",
    "Name",
    "NotNegative",
    "Positive",
    "Probability",
    "Real",
    "Table",
    "Title",
    "Whole",
    "Words",
    "seconds",
]

# Strict: the string "4" is not the number 4, and true is not 1.
Whole = Annotated[int, Field(strict=True, ge=0)]
Count = Annotated[int, Field(strict=True, ge=1)]
Real = Annotated[float, Field(strict=True, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Fraction = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
Probability = Annotated[float, Field(strict=True, ge=0, lt=1, allow_inf_nan=False)]


def _in_a_line(text: str) -> str:
    """Texts that stand in tables, pictures and paths: data everywhere, and in one line."""
    character = unprintable(text.replace("\n", "\v"))
    if character:
        character = character.replace("x0b", "n")
        raise ScenarioError("", f"must be one line of text without {character}, given {text!r}")
    if len(text) > _LONGEST:
        raise ScenarioError("", f"must have at most {_LONGEST} characters, given {text!r}")
    return text


_LONGEST = 200
"""Characters of a name: it stands in tables and pictures."""
Words = Annotated[str, Field(min_length=1)]
Title = Annotated[str, AfterValidator(_in_a_line)]
Name = Annotated[Title, Field(min_length=1)]


class Table(BaseModel):
    """A table: unknown keys are errors, and nothing changes after it was read."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def seconds(milliseconds: float) -> float:
    """Milliseconds of a file as seconds; divided, so that 50 ms is exactly the number 0.05."""
    return milliseconds / 1000.0
