"""Every number that a file or a command line gives has bounds, and an error tells them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, nan
from typing import Any

import pytest
from pydantic import BaseModel, Field

from simrep import (
    ScenarioError,
    SimrepError,
    compare,
    explain,
    load,
    plan,
    run,
    sensitivity,
    sustainable_rate,
    sweep,
)
from simrep.contract.registry import find_model, model_names
from simrep.contract.setup import setup_of
from simrep.kernel.clock import Clock
from simrep.network.link import Link
from simrep.runs.volume import least_events
from simrep.scenario.options import resolve
from simrep.scenario.pack import Pack
from simrep.scenario.schema import json_schema
from simrep.scenario.table import Table
from tests.small_scenario import problem, small

TABLES = [
    table
    for name in model_names()
    for model in [find_model(name)]
    for table in (model.Options, model.Costs, model.Session)
    if table is not None
]
LOW = {"minimum", "exclusiveMinimum"}
HIGH = {"maximum", "exclusiveMaximum"}


def numbers(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """All numbers of a JSON schema, each with the path to it."""
    if isinstance(schema, list):
        for inner in schema:
            yield from numbers(inner, path)
    elif isinstance(schema, dict):
        if schema.get("type") in {"integer", "number"} and "enum" not in schema:
            yield path, schema
        for key, inner in schema.items():
            yield from numbers(inner, f"{path}.{key}")


@pytest.mark.parametrize(
    "schema",
    [json_schema(), Pack.model_json_schema(), *(table.model_json_schema() for table in TABLES)],
    ids=["scenario", "pack", *(table.__name__ for table in TABLES)],
)
def test_every_number_has_two_bounds(schema: dict[str, Any]) -> None:
    open_ended = [
        path for path, number in numbers(schema) if not (LOW & set(number) and HIGH & set(number))
    ]
    assert open_ended == []


def tables_of(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for table in kind.__subclasses__():
        yield table
        yield from tables_of(table)


def test_a_bound_of_a_field_is_not_undone_by_that_of_its_kind() -> None:
    """Pydantic takes the last bound; ``Rows = Field(le=9)`` has that of ``Rows`` behind its own."""
    tables = set(tables_of(Table))
    assert len(tables) > 20
    fields = [
        (f"{one.__name__}.{name}", field)
        for one in tables
        for name, field in one.model_fields.items()
    ]
    for name, field in fields:
        for sign, strictest in (("ge", max), ("gt", max), ("le", min), ("lt", min)):
            bounds = [getattr(mark, sign) for mark in field.metadata if hasattr(mark, sign)]
            assert not bounds or bounds[-1] == strictest(bounds), name


@pytest.mark.parametrize(
    ("tables", "path", "words"),
    [
        ({"cluster": {"costs": {"fsync_us": inf}}}, "cluster.costs.fsync_us", "finite"),
        ({"cluster": {"costs": {"fsync_us": nan}}}, "cluster.costs.fsync_us", "finite"),
        ({"cluster": {"costs": {"fsync_us": 1e12}}}, "cluster.costs.fsync_us", "at most a minute"),
        (
            {"cluster": {"options": {"evs.keepalive_period": inf}}},
            'cluster.options."evs.keepalive_period"',
            "finite",
        ),
        ({"cluster": {"options": {"gcs.fc_limit": 2**40}}}, "gcs.fc_limit", "at most 2147483647"),
        ({"workload": {"rate_tps": 9, "connections": 2**40}}, "workload.connections", "100,000"),
        ({"workload": {"class": [{"rows": 10**12}]}}, "workload.class.0.rows", "1000000000"),
        ({"network": {"loss": 0.999999}}, "network.loss", "[[fault]]: cut"),
        ({"run": {"seed": -1}}, "run.seed", "at least 0"),
        ({"run": {"interval_s": 1e-5}}, "run.interval_s", "fill the memory"),
        ({"cluster": {"machine": {"slice_ms": 1e-9}}}, "machine.slice_ms", "at least 0.001"),
        (
            {"workload": {"class": [{"keys": {"distribution": "zipf", "rows": 10**9}}]}},
            "workload.class.0.keys.rows",
            "memory",
        ),
        (
            {"workload": {"class": [{"statements": 10_000, "rows": 1000}]}},
            "workload.class.0.statements",
            "at most 1,000,000",
        ),
        (
            {"workload": {"class": [{"rows": 10**9, "row_bytes": 1000}]}},
            "workload.class.0.row_bytes",
            "4 GB",
        ),
        (
            {"network": {"loss": 0.5, "egress": [{"node": "n1", "loss": 0.5}] * 4}},
            "network.egress",
            "at most 0.9",
        ),
    ],
)
def test_beyond_its_bounds_a_number_is_refused_with_the_reason(
    tables: dict[str, Any], path: str, words: str
) -> None:
    error = problem(small(**tables))
    assert path in str(error)
    assert words in str(error)


def test_a_group_has_no_more_clients_than_memory() -> None:
    groups = [{"node": name, "threads": 60_000} for name in ("n1", "n2")]
    content = {"cluster": {"model": "galera"}, "workload": {"group": groups}}
    assert "clients in all" in str(problem(content | {"run": {"duration_s": 1}}))


class Unbounded(BaseModel):
    """Costs of a model of one's own, which says nothing of bounds."""

    plain_us: float = 1.0
    asked_us: float = Field(1.0, allow_inf_nan=True)
    endless_us: float = inf


def test_costs_of_ones_own_are_finite_unless_they_ask_for_more() -> None:
    found = resolve(Unbounded, "cluster.costs", {}, {"asked_us": inf})
    assert (found.asked_us, found.endless_us) == (inf, inf)
    for value in (inf, nan):
        with pytest.raises(ScenarioError, match=r"cluster\.costs\.plain_us: must be a finite"):
            resolve(Unbounded, "cluster.costs", {}, {"plain_us": value})
    with pytest.raises(ScenarioError, match=r"pack slow\.plain_us"):
        resolve(Unbounded, "cluster.costs", {"pack slow": {"plain_us": inf}}, {})


# -- runs always end -------------------------------------------------------------------------------


def test_time_that_stands_still_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simrep.kernel.budget._LOOK", 100)
    monkeypatch.setattr("simrep.kernel.budget._STANDSTILL", 1000)
    free = dict.fromkeys(("statement_us", "client_us", "row_read_us", "connect_us"), 0)
    content = {
        "cluster": {"model": "standalone", "costs": free},
        "workload": {"class": [{"statements": 0, "reads": 1}]},
        "run": {"duration_s": 1},
    }
    with pytest.raises(SimrepError, match="time stands still at 0 simulated seconds, 1,000 events"):
        run(content)


def test_a_run_has_so_many_events_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clock, "most_events", 500)
    with pytest.raises(SimrepError, match="stopped after 500 events at"):
        run(small(workload={"queries": 1000}))


def test_a_run_that_would_take_too_long_says_so_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simrep.kernel.budget._LOOK", 1000)
    year = {"duration_s": 31_536_000, "interval_s": 1000}
    content = {"cluster": {"model": "galera"}, "workload": {"threads": 8}, "run": year}
    with pytest.raises(SimrepError, match=r"would take about \de\+12: the first 1,000 have led"):
        run(content)


@pytest.mark.parametrize(
    ("workload", "settings", "path", "least"),
    [
        ({"rate_tps": 50_000}, {"duration_s": 86_400}, "run.duration_s", r"8\.6e\+09"),
        ({"rate_tps": 50_000, "connections": 9}, {"duration_s": 86_400}, "run.", r"4\.3e\+09"),
        ({"threads": 50, "transactions_per_client": 10**8}, {}, "workload", r"5\.0e\+09"),
    ],
)
def test_what_would_take_too_many_events_says_so_before_it_starts(
    workload: dict[str, Any], settings: dict[str, Any], path: str, least: str
) -> None:
    content = {"cluster": {"model": "galera"}, "workload": workload, "run": settings}
    with pytest.raises(ScenarioError, match=f"{path}.* at least {least} events"):
        run(content)


@pytest.mark.parametrize("model", ["galera", "asynchronous"])
@pytest.mark.parametrize(
    "workload",
    [
        {"rate_tps": 800},
        {"rate_tps": 800, "connections": 2},
        {"variation": {"phase": [{"at_s": 0, "rate_tps": 900}, {"at_s": 0.1, "rate_tps": 100}]}},
        {"threads": 3, "transactions_per_client": 20},
    ],
)
def test_no_run_takes_fewer_events_than_are_told_before(
    model: str, workload: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of arrivals varies by chance: fewer than 0.7 of the mean come once in 10^4."""
    length = {} if "threads" in workload else {"duration_s": 0.2}
    content = {"cluster": {"model": model}, "workload": workload, "run": length}
    least = least_events(setup_of(load(content)))
    monkeypatch.setattr(Clock, "most_events", int(0.7 * least))
    assert least > 50
    with pytest.raises(SimrepError, match="events"):
        run(content)


def test_a_forecast_of_events_is_not_believed_when_it_may_be_wrong() -> None:
    clock = Clock()
    for number in range(300_000):  # a busy second, and a day in which nothing happens
        clock.at(number / 300_000, str)
    clock.at(86_000.0, str)
    clock.run(86_400.0)
    assert clock.now == 86_400.0


def scheduled(**settings: float) -> dict[str, Any]:
    workload = {"threads": 1, "scheduled": [{"at_s": 0.1, "rows": 20}]}
    return {"cluster": {"model": "galera"}, "workload": workload, "run": settings}


def test_a_run_may_end_with_its_last_scheduled_transaction() -> None:
    ended_s = run(scheduled(settle_s=0)).scheduled["large"].end_s
    assert 0.1 < ended_s < 0.2
    assert run(scheduled(settle_s=1e-20)).scheduled["large"].end_s == ended_s


def test_a_warm_up_beyond_the_end_of_a_run_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"run\.warmup_s: must be below .* has settled at 0\.1"):
        run(scheduled(settle_s=0.01, warmup_s=5))


def test_a_segment_that_is_lost_again_and_again_is_repeated_every_two_minutes() -> None:
    losses = iter([0.0] * 1100 + [1.0])
    link = Link(Clock(), 0.001, loss=0.5, coin=lambda: next(losses))
    timeouts_s = [min(0.202 * 2.0 ** min(number, 20), 120.0) for number in range(1100)]
    assert link.arrival(100, 0.0) == pytest.approx(0.001 + sum(timeouts_s))


@pytest.mark.parametrize("replications", [0, 10**9, "2"])
def test_every_number_of_replications_is_checked(replications: Any) -> None:
    for ask in (
        lambda: run(small(), replications=replications),
        lambda: sweep(small(), {"workload.threads": [1, 2]}, replications=replications),
        lambda: compare(small(), small(), replications=replications),
        lambda: plan(small(), "rtt", objective="p95<=1s", replications=replications),
    ):
        with pytest.raises(ScenarioError, match=r"^replications: "):
            ask()


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "a"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda content, seed: run(content, seed=seed),
        lambda content, seed: sweep(content, {"workload.threads": [1, 2]}, seed=seed),
        lambda content, seed: compare(content, content, seed=seed),
        lambda content, seed: plan(content, "rtt", objective="p95<=1s", seed=seed),
        lambda content, seed: sensitivity(content, seed=seed),
        lambda content, seed: explain(content, seed=seed),
        lambda content, seed: sustainable_rate(content, seed=seed),
    ],
)
def test_every_seed_is_checked(ask: Callable[[Any, Any], object], seed: Any) -> None:
    with pytest.raises(ScenarioError, match=r"^seed: must be "):
        ask(small(), seed)
