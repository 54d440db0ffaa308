"""What is said of compared fragment sizes: the verdict, the figure and the command."""

from __future__ import annotations

import json
from math import nan

import pytest
from typer.testing import CliRunner

from simrep.cli import app
from simrep.measure.grammar import quantities
from simrep.models.galera.questions.fragment import (
    Criteria,
    FragmentSize,
    FragmentSizes,
    size_text,
)


def row(
    size: int, slowdown: float, payload: float, stall_s: float, error: str = ""
) -> FragmentSize:
    figures = {
        "fragments": 10.0,
        "duration_s": 10 * slowdown,
        "slowdown": slowdown,
        "payload_tps": 100 * payload,
        "payload_share": payload,
        "stall_s": stall_s,
        "lock_hold_s": 10 * slowdown,
        "remote_lock_hold_s": 10.0,
        "paused_s": 0.0,
        "wsrep_flow_control_paused": 0.0,
    }
    failing = FragmentSize.judged(figures, error, Criteria())
    return FragmentSize(size=size, error=error, failing=failing, intervals={}, **figures)


def comparison(*rows: FragmentSize, without: FragmentSize | None = None) -> FragmentSizes:
    return FragmentSizes(
        title="made up",
        transaction="large",
        unit="bytes",
        whole=10**8,
        criteria=Criteria(),
        before_tps=100.0,
        without=without or row(0, 1.0, 0.3, 8.0),
        sizes=rows,
        skipped=(),
        interval_s=0.2,
        seed=1,
        replications=1,
        complete=True,
        scenario={},
        versions={},
    )


def test_limits_themselves_are_met():
    assert row(1000, 1.5, 0.8, 5 * 0.2).recommended
    assert not row(1000, 1.51, 0.8, 1.0).recommended
    assert not row(1000, 1.5, 0.79, 1.0).recommended
    assert not row(1000, 1.5, 0.8, 1.2).recommended
    assert not row(1000, 1.0, 1.0, 0.0, error="1213 Deadlock").recommended


def test_the_longest_row_of_neighbours_is_recommended():
    good, bad = (1.1, 0.9, 0.2), (1.1, 0.5, 0.2)
    found = comparison(row(100, *good), row(320, *bad), row(1000, *good), row(3200, *good))
    assert [one.size for one in found.recommended] == [1000, 3200]
    assert "Recommended: 1 K to 3.2 K bytes" in str(found)


def test_without_a_recommended_size_both_ends_and_a_compromise_are_named():
    found = comparison(
        row(1000, 6.0, 0.9, 0.0), row(10_000, 1.4, 0.6, 1.2), row(100_000, 1.2, 0.7, 1.2),
        row(1_000_000, 1.1, 0.5, 4.0),
    )  # fmt: skip
    assert found.recommended == ()
    assert found.compromise is not None
    assert found.compromise.size == 100_000  # of equal stalls, that with more payload
    text = str(found)
    assert "No size meets everything" in text
    assert "The smallest, 1 K: slowdown 6, at most 1.50." in text
    assert (
        "The largest, 1 M: stall 4 s, at most 1 s; payload 50 % of before, at least 80 %." in text
    )
    assert "Best compromise" in text
    assert "wsrep_trx_fragment_size = 100000;" in text


def test_there_may_be_no_compromise():
    found = comparison(row(1000, 6.0, 0.9, 0.0), row(10_000, 2.0, 0.9, 0.0, error="1213 Deadlock"))
    assert found.compromise is None
    assert "no compromise within the slowdown" in str(found)


def test_it_is_said_when_streaming_is_not_needed():
    found = comparison(row(1000, 1.4, 0.9, 0.0), without=row(0, 1.0, 0.9, 0.4))
    assert "it is not needed" in str(found)


@pytest.mark.parametrize(
    ("size", "text"),
    [(1, "1"), (100, "100"), (3200, "3.2 K"), (10_240, "10 Ki"), (10**6, "1 M"), (2**20, "1 Mi"),
     (1_234_567, "1,234,567"), (25 * 10**8, "2.5 G")],
)  # fmt: skip
def test_sizes_are_written_exactly(size, text):
    assert size_text(size) == text
    assert quantities("--sizes", text.replace(",", "").replace(" ", "")) == [size]


def test_the_figure_shows_sizes_levels_and_the_recommended_range(tmp_path):
    found = comparison(
        row(10_000, 2.0, 0.95, 0.0), row(100_000, 1.2, 0.9, 0.2), row(1_000_000, 1.1, 0.85, 0.8),
        row(10_000_000, 1.0, 0.6, 3.0),
    )  # fmt: skip
    figure = found.plot(tmp_path / "sizes.png")
    assert (tmp_path / "sizes.png").stat().st_size > 10_000
    time, payload, stall = figure.axes
    assert stall.get_xscale() == "log"
    ticks = [tick.get_text() for tick in stall.get_xticklabels()]
    assert ticks == ["10 K", "100 K", "1 M", "10 M"]
    shown = {
        "duration_s": (time, 1.5 * found.without.duration_s),
        "payload_share": (payload, 0.8),
        "stall_s": (stall, 1.0),
    }
    for name, (axes, limit) in shown.items():
        lines = {line.get_label(): line for line in axes.lines}
        assert list(lines["simulated"].get_ydata()) == [getattr(one, name) for one in found.sizes]
        assert lines["without streaming"].get_ydata()[0] == getattr(found.without, name)
        assert lines["limit"].get_ydata()[0] == pytest.approx(limit)
        (shaded,) = (patch for patch in axes.patches if patch.get_label() == "recommended")
        assert (shaded.get_x(), shaded.get_x() + shaded.get_width()) == (100_000, 1_000_000)


def test_a_figure_needs_a_size_and_may_lack_a_range():
    with pytest.raises(ValueError, match="no sizes"):
        comparison().plot()
    figure = comparison(row(1000, 6.0, 0.9, 0.0)).plot()
    assert not figure.axes[0].patches


def test_the_figure_does_without_what_failed():
    """The limit follows from any size where the time without streaming is not known."""
    lost = row(0, nan, 0.3, 8.0, error="1180 too large")
    figure = comparison(row(1000, nan, 0.9, 0.0, error="1180 too large"), without=lost).plot()
    assert not [line for line in figure.axes[0].lines if line.get_label() == "limit"]
    figure = comparison(row(1000, 1.2, 0.9, 0.0), without=lost).plot()
    labels = {line.get_label(): line for line in figure.axes[0].lines}
    assert labels["limit"].get_ydata()[0] == pytest.approx(15.0)
    assert "without streaming" not in labels


def as_toml(tmp_path):
    file = tmp_path / "large.toml"
    file.write_text(
        """
[cluster]
model = "galera"
nodes = 2

[workload]
rate_tps = 400
connections = 20

[[workload.scheduled]]
name = "large"
at_s = 1
rows = 20_000
row_bytes = 100
table = "big"
keys = { distribution = "scan", rows = 20_000 }

[run]
settle_s = 0.5
"""
    )
    return file


def test_the_command_prints_what_was_found(tmp_path):
    figure = tmp_path / "sizes.svg"
    command = ["plan", str(as_toml(tmp_path)), "fragment", "--sizes", "100K,1M"]
    command += ["--longest-stall", "40ms", "--least-payload", "70%", "--plot", str(figure)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "100 K" in done.stdout
    assert "none" in done.stdout
    assert figure.read_text(encoding="utf-8").startswith("<?xml")

    done = CliRunner().invoke(app, [*command[:-2], "--json", "--set", "workload.rate_tps=300"])
    content = json.loads(done.stdout)
    assert [one["size"] for one in content["sizes"]] == [100_000, 1_000_000]
    assert content["criteria"] == {
        "longest_stall_s": 0.04, "largest_slowdown": 1.5, "least_payload": 0.7,
    }  # fmt: skip
    assert content["scenario"]["workload"]["rate_tps"] == 300
    assert content["without"]["fragments"] == 0
    assert content["question"] == "The largest fragment of 'large' that is safe"
    former = CliRunner().invoke(
        app, ["fragment-size", "--sizes", "100K,1M", command[1], *command[5:-2], "--json",
              "--set", "workload.rate_tps=300"],
    )  # fmt: skip
    assert former.stdout == done.stdout
    assert "is 'simrep plan FILE fragment' now" in former.stderr


@pytest.mark.parametrize(
    ("option", "value"),
    [("--sizes", "10X"), ("--sizes", "1.5"), ("--sizes", ""), ("--longest-stall", "1 year"),
     ("--least-payload", "lots"), ("--unit", "row"), ("--plot", "sizes.gif")],
)  # fmt: skip
def test_the_command_refuses_what_it_does_not_understand(tmp_path, option, value):
    done = CliRunner().invoke(app, ["plan", str(as_toml(tmp_path)), "fragment", option, value])
    assert done.exit_code == 2
    assert option.strip("-") in done.stderr
