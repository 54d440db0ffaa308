"""What every table of a scenario file has in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Count",
    "Fraction",
    "Name",
    "NotNegative",
    "Positive",
    "Probability",
    "Real",
    "Table",
    "Whole",
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
Name = Annotated[str, Field(min_length=1)]


class Table(BaseModel):
    """A table: unknown keys are errors, and nothing changes after it was read."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def seconds(milliseconds: float) -> float:
    """Milliseconds of a file as seconds; divided, so that 50 ms is exactly the number 0.05."""
    return milliseconds / 1000.0
