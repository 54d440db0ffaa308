"""Drills: who notices a fault, when clients have answers again, what is lost, what is played."""

from __future__ import annotations

import csv
import json
from concurrent.futures import Executor, Future
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.errors import ScenarioError
from simrep.whatif.drill.catalogue import CATALOGUE
from simrep.whatif.drill.outcome import Outcome, outage
from simrep.whatif.drill.result import Drill
from tests import own_models
from tests.legible import problems

WORKLOAD = {"threads": 4, "think_time_ms": 130.0, "think_time": "exponential", "nodes": ["n1"]}


def scenario(model: str = "galera", **tables: Any) -> dict[str, Any]:
    """Four clients that write about 30 times a second on the first of three nodes."""
    return {
        "name": "A shop", "cluster": {"model": model}, "workload": WORKLOAD,
        "run": {"duration_s": 60.0}, **tables,
    }  # fmt: skip


@pytest.fixture(scope="module")
def found() -> Drill:
    return simrep.drill(
        scenario(),
        faults=["kill writer", "cut site of writer"],
        over={'cluster.options."evs.suspect_timeout"': ["PT3S", "PT5S"]},
        replications=2,
        rto_s=5.0,
        rpo=0.0,
    )


# ----------------------------------------------------------------- outcomes --


def test_a_killed_writer_costs_its_timeout_and_is_whole_again_after_its_restart(found) -> None:
    short, long = (cell for cell in found.cells if cell.outcomes)
    assert long.labels == {'cluster.options."evs.suspect_timeout"': "PT5S"}
    for one in long.outcomes:
        assert one.detected_s < 0.1  # its kernel closes its connections
        assert 5.0 < one.writes_back_s < 6.6
        assert one.writes_back_s <= one.rto_s < one.writes_back_s + 0.5
        assert (one.lost, one.lost_span_s, one.duplicated) == (0.0, 0.0, 0.0)
        assert 4.0 <= one.slow_s <= 10.0
        assert 30.0 < one.whole_s < 40.0
        assert one.errors["2013"] >= 4
    assert long.median("rto_s") - short.median("rto_s") == pytest.approx(2.0, abs=0.6)
    instants = [[one.fault_s for one in cell.outcomes] for cell in (short, long)]
    assert instants[0] == instants[1]
    assert len(set(instants[0])) == 2
    assert all(10.0 <= at_s < 15.0 for at_s in instants[0])


def test_what_does_not_apply_and_what_a_model_does_not_play_is_said(found) -> None:
    apart = found.cell("cut site of writer")
    assert not apart.outcomes
    assert "does not apply: the scenario names no sites" in apart.refused
    assert all(np.isnan(row["rto_s"]) for row in found.rows() if row["refused"])
    alone = simrep.drill(scenario("standalone"), faults=["cut writer", "kill non-writer"])
    assert [cell.refused for cell in alone.cells] == [
        "does not apply: no other server has its data",
        "does not apply: no other server has its data",
    ]
    everywhere = scenario() | {"workload": WORKLOAD | {"nodes": ["*"]}}
    [cell] = simrep.drill(everywhere, faults=["pause non-writer 30 s"]).cells
    assert cell.refused == "does not apply: clients write on all nodes"


def test_writes_that_do_not_come_back_are_never_a_number(tmp_path) -> None:
    """The source of a set-up that nobody looks after is gone for 30 s, the run ends after 15."""
    gone = simrep.drill(
        scenario("asynchronous"), faults=["kill writer"], replications=1, limit_s=15.0
    )
    cell = gone.cell("kill writer")
    assert (cell.median("rto_s"), cell.median("writes_back_s"), cell.never("rto_s")) == (
        inf,
        inf,
        1,
    )
    assert cell.median("whole_s") == inf
    told = json.loads(json.dumps(gone.to_dict(), allow_nan=False))["cells"][0]
    assert told["figures"]["rto_s"] == {"median": "never", "low": "never", "high": "never"}
    assert ">15" in str(gone)
    assert "stay with their node" in str(gone)
    gone.save(tmp_path / "drill.csv")
    [row] = csv.DictReader((tmp_path / "drill.csv").read_text(encoding="utf-8").splitlines())
    assert (row["rto_s"], row["rto_s.never"]) == ("never", "1")
    gone.plot(tmp_path / "drill.png")


def test_a_donor_dies_while_it_gives_its_state_and_reads_are_told_beside_writes() -> None:
    mixed = WORKLOAD | {"class": [{"name": "write"}, {"name": "read", "statements": 0, "reads": 1}]}
    found = simrep.drill(
        scenario() | {"workload": mixed}, faults=["kill donor"], replications=1, restart_s=15.0
    )
    [one] = found.cell("kill donor").outcomes
    assert 25.0 < one.fault_s < 45.0  # the first server was killed from 10 to 15 s
    assert one.rto_s > 1.0
    assert one.whole_s > 15.0
    assert one.reads_back_s >= 0.0
    assert "reads back" in str(found)


def test_a_demand_holds_for_every_replication(found) -> None:
    (_, short), (_, long) = found.verdicts
    assert short == "RTO <= 5 s and RPO <= 0: kept, whatever was played."
    assert long.startswith("RTO <= 5 s and RPO <= 0: not kept, kill writer (RTO 6.")
    assert short in str(found)
    assert [one["verdict"] for one in found.to_dict()["verdicts"]] == [short, long]


def test_nothing_is_kept_by_a_model_that_plays_nothing(monkeypatch) -> None:
    own_models.install(monkeypatch, silent="tests.own_models:Silent")
    alone = scenario("silent", run={"duration_s": 2.0, "warmup_s": 0.0})
    played = simrep.drill(alone, faults=["kill writer", "cut non-writer", "slow disk writer"])
    assert all(cell.refused for cell in played.cells)
    assert not any(cell.outcomes for cell in played.cells)
    ask: dict[str, Any] = {"figures": ["throughput_tps"], "replications": 2}
    compared = simrep.compare(alone, alone, rto_s=1.0, **ask)
    assert compared.drilled == tuple(f"{of}: RTO <= 1 s: nothing was played." for of in "AB")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([9.0, 9.9, 10.1, 10.2], (0.0, 0.2)),
        ([9.0, 9.9, 12.0, 12.1, 16.0, 16.1], (6.0, 3.9)),  # the longest of two outages
        ([9.0, 9.9], (inf, inf)),
    ],
)
def test_an_outage_is_longer_than_a_second_and_than_ten_usual_gaps(answers, expected) -> None:
    end_s = 20.0 if len(answers) == 2 else answers[-1] + 0.1
    back, longest = outage(np.array(answers), 10.0, end_s, 10.0)
    assert (back, longest) == pytest.approx(expected)
    assert outage(np.array(answers), 10.0, end_s, 0.5)[0] == 0.0  # 20 s would be one
    assert np.isnan(outage(np.array(answers), 10.0, end_s, 0.0)).all()


def test_too_few_writes_tell_no_outage() -> None:
    rare = scenario(workload={"threads": 1, "think_time_ms": 7000})
    [cell] = simrep.drill(rare, faults=["kill writer"], replications=1).cells
    assert not cell.outcomes
    assert "1 writes were answered" in cell.refused or "2 writes were" in cell.refused


def test_percentiles_are_told_from_forty_replications_on(found) -> None:
    cell = found.cells[0]
    many = type(cell)(fault=cell.fault, labels={}, outcomes=cell.outcomes * 20)
    assert "p95" not in cell.to_dict()["figures"]["rto_s"]
    assert many.to_dict()["figures"]["rto_s"]["p95"] == many.percentile("rto_s", 95.0)


# ---------------------------------------------------------------- precision --


class Told(Executor):
    """Tells outcomes with these RTOs instead of simulating them."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome, self.calls = outcome, 0

    def submit(self, call, /, *arguments, **options):
        case, _, number = arguments
        self.calls += 1
        rto_s = {
            "kill writer": 6.0 + 3.0 * (number % 2),
            "kill non-writer": 0.02 * (1 + number % 5),
            "cut writer": inf if number == 3 else 6.0,
            "cut non-writer": 20.0 * (number % 4 == 0),
        }[case.fault.name]
        future: Future[Any] = Future()
        future.set_result(replace(self.outcome, rto_s=rto_s).to_dict())
        return future


def test_a_precision_asks_for_as_many_replications_as_each_fault_takes(found, tmp_path) -> None:
    executor = Told(found.cells[0].outcomes[0])
    faults = ["kill writer", "kill non-writer", "cut writer", "cut non-writer"]
    ask: dict[str, Any] = {"faults": faults, "precision": 0.1, "most": 30, "cache": tmp_path}
    precise = simrep.drill(scenario(), executor=executor, **ask)
    runs = {name: len(precise.cell(name).outcomes) for name in faults}
    assert 15 < runs.pop("kill writer") < 30  # Student's t of a spread of 20 % over 10 %, squared
    # A pause that is no outage is known well enough, and what never ends has no mean.
    assert runs == {"kill non-writer": 10, "cut writer": 10, "cut non-writer": 30}
    assert precise.cell("kill writer").precision <= 0.1
    assert [cell.fault.name for cell in precise.imprecise] == ["cut writer", "cut non-writer"]
    assert executor.calls == precise.computed == sum(len(one.outcomes) for one in precise.cells)
    said = " ".join(str(precise).split())
    assert "10 to 30 replications" in said
    assert "cut writer: in 1 of 10 runs writes did not come back" in said
    assert "cut non-writer: after 30 runs it is ± " in said
    low, high = precise.cell("kill writer").to_dict()["rto_interval"]
    assert low < 7.5 < high
    again = simrep.drill(scenario(), executor=executor, **ask)
    assert (again.computed, again.cells) == (0, precise.cells)


# -------------------------------------------------------------------- known --


class Killed(Executor):
    """Runs what it is given at once, until the process ends."""

    def submit(self, call, /, *arguments, **options):
        if arguments[-1] == 1:  # the second replication
            raise KeyboardInterrupt
        future: Future[Any] = Future()
        future.set_result(call(*arguments, **options))
        return future


def test_what_is_known_is_not_simulated_again(found, tmp_path) -> None:
    ask: dict[str, Any] = {"faults": ["kill writer"], "replications": 2, "cache": tmp_path}
    part = simrep.drill(scenario(), executor=Killed(), **ask)
    assert (part.computed, part.complete, part.cells) == (1, False, ())
    rest = simrep.drill(scenario(), **ask)
    assert (rest.computed, rest.known, rest.complete) == (1, 1, True)
    again = simrep.drill(scenario(), **ask)
    assert (again.computed, again.known) == (0, 2)
    assert again.cells == rest.cells
    assert rest.cell("kill writer").outcomes == found.cells[2].outcomes


# ----------------------------------------------------------------- mistakes --


@pytest.mark.parametrize(
    ("changes", "ask", "said"),
    [
        ({}, {"faults": ["kill writter"]}, "did you mean 'kill writer'"),
        ({}, {"faults": ["kill writer"] * 2}, "is there twice"),
        ({}, {"products": ["galeera"]}, "did you mean 'galera'"),
        ({}, {"limit_s": 0.001}, "must be from 10"),
        ({}, {"precision": 0.1, "replications": 5}, "leave out replications"),
        ({}, {"precision": 0.1, "quick": True}, "leave out quick"),
        ({}, {"rto_s": 60.0, "limit_s": 30.0}, "must be at most 30"),
        ({"workload": WORKLOAD | {"queries": 64}, "run": {}}, {}, "a lasting load"),
        ({"workload": {"class": [{"statements": 0, "reads": 1}]}}, {}, "clients that write"),
    ],
)
def test_mistakes_are_told(changes, ask, said) -> None:
    with pytest.raises(ScenarioError, match=said):
        simrep.drill(scenario() | changes, **ask)


def test_a_figure_of_many_settings_can_be_read(found) -> None:
    many = [
        replace(cell, labels={"evs.suspect_timeout": f"PT{number}S"})
        for number in range(12)
        for cell in found.cells[:2]
    ]
    figure = replace(found, cells=tuple(many), factors=("evs.suspect_timeout",)).plot()
    assert not problems(figure)
    (legend,) = figure.legends
    width = figure.get_window_extent().width
    box = legend.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= width


# ------------------------------------------------------------- command line --


def test_the_command_prints_the_catalogue_and_readable_tables(found, tmp_path: Path) -> None:
    listed = CliRunner().invoke(app, ["drill", "--list"])
    assert all(fault.name in listed.output for fault in CATALOGUE)
    page = Path(__file__).parents[2].joinpath("docs/reference/drill.md").read_text(encoding="utf-8")
    assert all(f"| `{fault.name}` | {fault.said} |" in page for fault in CATALOGUE)
    assert max(map(len, str(found).splitlines())) <= 100
    nobody = CliRunner().invoke(app, ["drill"])
    assert nobody.exit_code == 2
    file = tmp_path / "shop.toml"
    file.write_text(simrep.load(scenario("standalone")).to_toml())
    arguments = ["drill", str(file), "--fault", "pause writer 5 s", "--replications", "1"]
    done = CliRunner().invoke(app, [*arguments, "--jobs", "1", "--no-cache", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)["cells"][0]["figures"]
    assert 4.9 < told["rto_s"]["median"] < 5.5
    assert told["whole_s"]["median"] is None
