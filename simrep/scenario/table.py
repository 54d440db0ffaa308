"""What every table of a scenario file has in common: its kinds of numbers, and where they end.

A number that means nothing on any cluster is refused where it is read, and not by a run that does
not end. Each kind of number has its bounds here, with a reason that the error tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from simrep.errors import ScenarioError
from simrep.printable import unprintable

__all__ = [
    "Backoff",
    "Bandwidth",
    "Bytes",
    "Checks",
    "Clients",
    "Cores",
    "Count",
    "DataBytes",
    "Exponent",
    "Factor",
    "Fraction",
    "Freedom",
    "Gain",
    "HotShare",
    "Interval",
    "Iterations",
    "Loss",
    "Microseconds",
    "Milliseconds",
    "Multiple",
    "Name",
    "Nanoseconds",
    "NotNegative",
    "Others",
    "Pages",
    "Period",
    "Positive",
    "Queued",
    "Rate",
    "Real",
    "Reason",
    "Repeats",
    "Replications",
    "Rows",
    "Seconds",
    "Seed",
    "SegmentBytes",
    "Share",
    "Shift",
    "Speed",
    "Spread",
    "Statements",
    "StepRows",
    "Table",
    "TableRows",
    "Tables",
    "TextBytes",
    "Title",
    "Transactions",
    "Variation",
    "Warehouses",
    "Weight",
    "Whole",
    "WindowBytes",
    "WindowSegments",
    "Words",
    "seconds",
]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a kind of number ends where it does; the error of a number beyond tells it."""

    text: str


# Strict: the string "4" is not the number 4, and true is not 1.


def _within(low: float, high: float) -> Any:
    return Field(strict=True, ge=low, le=high, allow_inf_nan=False)


def _counted(low: int, high: int) -> Any:
    return Field(strict=True, ge=low, le=high)


# Of these the field says how many there are at most.
Whole = Annotated[int, Field(strict=True, ge=0)]
Count = Annotated[int, Field(strict=True, ge=1)]

Seed = Annotated[
    int,
    _counted(0, 2**63 - 1),
    Reason("whole numbers of a TOML file have 64 bits"),
]

_DIGITS = Reason("beyond 10^15 a number has no digit left for its unit")
Real = Annotated[float, _within(-1e15, 1e15), _DIGITS]
NotNegative = Annotated[float, _within(0, 1e15), _DIGITS]
Positive = Annotated[float, Field(strict=True, gt=0, le=1e15, allow_inf_nan=False), _DIGITS]
Fraction = Annotated[float, _within(0, 1)]

# -- times -----------------------------------------------------------------------------------------

_DAY_MS = 86_400_000
Milliseconds = Annotated[
    float,
    _within(0, _DAY_MS),
    Reason("a single wait lasts at most a day"),
]
Shift = Annotated[
    float,
    _within(-_DAY_MS, _DAY_MS),
    Reason("a delay changes by at most a day"),
]
Period = Annotated[  # in milliseconds; what comes again and again must leave time to pass
    float,
    _within(0.001, _DAY_MS),
    Reason("from a microsecond, below which a server measures nothing, to a day"),
]
Seconds = Annotated[
    float,
    _within(0, 31_536_000),
    Reason("a run is about a year at most"),
]
Interval = Annotated[  # in seconds
    float,
    _within(1e-6, 31_536_000),
    Reason("from a microsecond, below which a server measures nothing, to a year"),
]
# Of costs: no server was found on which a step takes longer (a slow disk: 20 ms for an fsync).
Microseconds = Annotated[
    float,
    _within(0, 60_000_000),
    Reason("one step of a server takes at most a minute"),
]
Nanoseconds = Annotated[
    float,
    _within(0, 1_000_000),
    Reason("a byte or an item takes at most a millisecond"),
]

# -- speeds and ratios -----------------------------------------------------------------------------

Bandwidth = Annotated[  # in megabits per second
    float,
    _within(1e-6, 1_000_000_000),
    Reason("from a bit per second to more than all cables of an ocean carry"),
]
Speed = Annotated[  # in megabytes per second
    float,
    _within(1e-3, 1_000_000_000),
    Reason("from a modem to far more than memory copies"),
]
Rate = Annotated[  # in transactions per second
    float,
    _within(1e-6, 1_000_000),
    Reason("from one in eleven days to more than any of these servers has taken"),
]
Factor = Annotated[
    float,
    _within(1, 1000),
    Reason("1 changes nothing, and no two machines differ by more than 1,000"),
]
Backoff = Annotated[
    float,
    _within(1, 10),
    Reason("1 changes nothing, and beyond 10 the third pause is the last"),
]
Multiple = Annotated[
    float,
    _within(0.01, 1000),
    Reason("no machine is a hundred times as fast as another, or a thousand times as slow"),
]
Variation = Annotated[  # a coefficient of variation
    float,
    _within(0, 100),
    Reason("beyond 100, no run is long enough to see the mean"),
]
Spread = Annotated[  # a standard deviation of a logarithm
    float,
    _within(0, 5),
    Reason("at 5, a value is known to a factor of 150: nothing is known of it"),
]
Freedom = Annotated[
    float,
    _within(1, 1e15),
    Reason("an interval rests on one cell at least"),
]
Weight = Annotated[
    float,
    _within(1e-9, 1_000_000_000),
    Reason("a class that is one in 10^9 does not happen: leave it out"),
]
Exponent = Annotated[  # of a Zipf distribution
    float,
    _within(0, 100),
    Reason("at 100, all choices fall on the first row"),
]
Loss = Annotated[
    float,
    _within(0, 0.5),
    Reason("TCP gives up a connection that loses more, which is a [[fault]]: cut"),
]

# -- counts ----------------------------------------------------------------------------------------

Cores = Annotated[int, _counted(1, 65_536), Reason("no machine has more than 65,536")]
Clients = Annotated[
    int,
    _counted(1, 100_000),
    Reason("a server takes at most 100,000 (max_connections)"),
]
Others = Annotated[int, _counted(0, 1000), Reason("more make no difference to a few cores")]
Checks = Annotated[int, _counted(1, 1000), Reason("nobody would wait for more of them")]
Queued = Annotated[int, _counted(0, 1_000_000_000), Reason("no run has more transactions")]
Transactions = Annotated[
    int,
    _counted(1, 1_000_000_000),
    Reason("a run takes at most 10^9 events"),
]
Replications = Annotated[int, _counted(1, 1_000_000), Reason("a tenth of 1 % needs no more")]
Statements = Annotated[
    int,
    _counted(0, 10_000),
    Reason("a transaction of more is one of few statements with many rows"),
]
Rows = Annotated[
    int,
    _counted(1, 1_000_000_000),
    Reason("no server writes or reads more than 10^9 rows in one statement"),
]
StepRows = Annotated[int, _counted(1, 1000), Reason("of more, a class has no other statements")]
Pages = Annotated[int, _counted(0, 100_000), Reason("a statement that reads 1.6 GB is a scan")]
Repeats = Annotated[int, _counted(1, 1000), Reason("a transaction of more has many rows instead")]
Warehouses = Annotated[int, _counted(1, 1_000_000), Reason("a million take 100 TB")]
TableRows = Annotated[int, _counted(1, 10**12), Reason("no table has more than 10^12 rows")]
Tables = Annotated[int, _counted(1, 100_000), Reason("no schema has more than 100,000 tables")]
Iterations = Annotated[int, _counted(1, 1000), Reason("the mean of 1,000 hardly leaves the middle")]
Share = Annotated[  # neither nothing nor all
    float,
    _within(0.001, 0.999),
    Reason("from a thousandth to all but a thousandth"),
]
Bytes = Annotated[
    int,
    _counted(1, 4_294_967_295),
    Reason("a LONGBLOB has 4 GiB less a byte"),
]
HotShare = Annotated[
    float,
    _within(0.01, 0.5),
    Reason("0.5 is even; from one in a hundred, which has 99 % of the accesses"),
]
Gain = Annotated[
    float,
    _within(0, 1),
    Reason("a second thread of a core does not do more than the first"),
]
DataBytes = Annotated[
    int,
    _counted(0, 10**15),
    Reason("from an empty server to a petabyte"),
]
TextBytes = Annotated[
    int,
    _counted(0, 1_073_741_824),
    Reason("max_allowed_packet is at most 1 GiB"),
]
SegmentBytes = Annotated[
    int,
    _counted(88, 65_535),
    Reason("TCP sends segments of 88 to 65,535 bytes"),
]
WindowBytes = Annotated[
    int, _counted(1, 2**30), Reason("a window of TCP has at most 1 GiB (RFC 7323)")
]
WindowSegments = Annotated[
    int,
    _counted(1, 65_536),
    Reason("more segments than a window of TCP holds"),
]

# -- texts -----------------------------------------------------------------------------------------


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
