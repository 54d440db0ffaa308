"""Quantities of the command line: one way to write times, shares, sizes and ranges, everywhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from simrep.cli import app
from simrep.errors import ScenarioError
from simrep.measure.grammar import duration, number, quantities, range_in, range_of, share

SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
positive = st.floats(1e-9, 1e9)
YEAR_S = 365 * 86400.0  # no time may be longer
spaces = st.sampled_from(["", " ", "  "])


def test_sizes_times_and_shares_are_read_with_their_units() -> None:
    assert quantities("--sizes", "10K, 1.5m,64Ki,1G,7") == [10_000, 1_500_000, 65_536, 10**9, 7]
    assert [duration("--outage", text) for text in ("1s", "250 ms", "2")] == [1.0, 0.25, 2.0]
    shares = [share("--least-payload", text) for text in ("80%", "0.8", "100 %")]
    assert shares == [0.8, 0.8, 1.0]


@given(positive, st.sampled_from(sorted(SECONDS)), st.sampled_from(sorted(SECONDS)), spaces)
def test_a_time_is_a_number_with_a_unit(value: float, unit: str, wanted: str, space: str) -> None:
    assume(value * max(SECONDS[unit], SECONDS[wanted]) <= YEAR_S)
    read = duration("--outage", f"{space}{value!r}{space}{unit}{space}", wanted)
    assert read == pytest.approx(value * SECONDS[unit] / SECONDS[wanted])
    assert duration("--outage", f"{value!r}{space}", wanted) == value
    assert duration("--outage", f"{value!r}{wanted}", wanted) == value


@given(positive, spaces)
def test_a_share_is_a_number_or_hundredths(value: float, space: str) -> None:
    assert share("--tail", f"{space}{value!r}{space}") == value
    assert share("--tail", f"{value!r}{space}%{space}") == value / 100.0


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_stay_whole_or_not(value: float) -> None:
    read = number(f" {value!r} ")
    assert (read, type(read)) == (value, type(value))


@given(st.integers() | st.floats(-1e6, 1e6), st.integers() | st.floats(-1e6, 1e6), spaces)
def test_a_range_is_two_numbers_of_any_spelling(low: float, high: float, space: str) -> None:
    text = f"{space}{low!r}{space}..{space}{high!r}{space}"
    found = range_of("--within", text)
    assert (found.low, found.high, found.geometric) == (low, high, False)
    assert found.whole == (isinstance(low, int) and isinstance(high, int))
    log = range_in(f"{text}:log")
    assert log is not None
    assert (log[0].geometric, log[1]) == (True, "")
    for steps in ("x2", "+0.5", "7"):
        stepped = range_in(f"{text}:{steps}")
        assert stepped == (found, steps)
        with pytest.raises(ScenarioError, match=r"--within: .* has steps"):
            range_of("--within", f"{text}:{steps}")


def test_ends_of_a_range_of_times_may_have_units() -> None:
    assert range_in("500us..0.2s", "ms") == range_in("0.5..200.0", "ms")
    assert range_in("500us..0.2s") is None


@pytest.mark.parametrize("read", [duration, share, quantities, range_of])
@given(text=st.text("kM.%-:is", max_size=8))
def test_what_cannot_be_read_names_the_option_and_the_text(
    read: Callable[[str, str], object], text: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        read("--option", text)
    assert str(caught.value).startswith(f"--option: {text!r} is not a ")
    assert "e.g." in caught.value.hint


PRODUCT = ("--regions", "us-east-1", "--writes", "us-east-1", "--objective", "tps>=1")
TIMES = ("1min", "500ms", "0.5", "2 h", "1e3us", ".25s")
SHARES = ("5%", "0.05", "5e-2", " 5 % ")
RANGES = ("1..100", "1e1..1e3", "1 .. 100", "1..1_000", "10..100:log")


@pytest.mark.parametrize(
    ("command", "option", "spellings"),
    [
        (("plan", "FILE", "gcache"), "--outage", TIMES),
        (("plan", "FILE", "transaction"), "--longest-stall", TIMES),
        (("plan", "FILE", "fragment"), "--longest-stall", TIMES),
        (("explain", "FILE", "--stall"), "--longer-than", TIMES),
        (("plan", "FILE", "product", *PRODUCT), "--zone-rtt-ms", TIMES),
        (("explain", "FILE"), "--tail", SHARES),
        (("run", "FILE"), "--precision", SHARES),
        (("sweep", "FILE", "--over", "workload.threads=1"), "--precision", SHARES),
        (("compare", "FILE", "FILE"), "--precision", SHARES),
        (("plan", "FILE", "rate"), "--precision", SHARES),
        (("plan", "FILE", "fragment"), "--least-payload", SHARES),
        (("plan", "FILE", "rtt", "--objective", "p99<=1min"), "--within", RANGES),
        (("plan", "FILE", "clients", "--objective", "tps>=1"), "--within", RANGES),
        (("sensitivity", "FILE"), "--over", [f"network.rtt_ms={text}" for text in RANGES]),
        (
            ("sweep", "FILE", "--samples", "2"),
            "--over",
            [f"network.rtt_ms={text}" for text in RANGES],
        ),
    ],
)
def test_every_option_takes_every_spelling(
    tmp_path, command: tuple[str, ...], option: str, spellings: tuple[str, ...]
) -> None:
    # A file that is not there is the first thing that is wrong after the options are read.
    arguments = [str(tmp_path / "none.toml") if word == "FILE" else word for word in command]
    for text in spellings:
        done = CliRunner().invoke(app, [*arguments, option, text])
        assert done.exit_code == 2
        assert "cannot be read: No such file" in done.stderr, done.stderr
    if option != "--over" or command[0] != "sweep":
        refused = CliRunner().invoke(app, [*arguments, option, "soon"])
        assert refused.exit_code == 2
        assert f"{option}: " in refused.stderr
        assert "soon" in refused.stderr
