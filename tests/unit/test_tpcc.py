"""Classes of several steps, and the two presets of TPC-C that are made of them."""

from collections import Counter
from typing import Any

import pytest

import simrep
from simrep.errors import ScenarioError
from simrep.kernel.streams import Streams
from simrep.scenario import load
from simrep.scenario.classes import ClassTable
from simrep.scenario.presets import preset
from simrep.workload.classes import TransactionClass
from simrep.workload.mix import Mix
from simrep.workload.transaction import Transaction

TPCC = {"warehouses": 20}


def classes(name: str, words: dict[str, Any]) -> dict[str, TransactionClass]:
    tables = [ClassTable.model_validate(one) for one in preset(name, words)["class"]]
    return {one.name: one.transaction_class() for one in tables}


def transactions(one: TransactionClass, number: int) -> list[Transaction]:
    make = Mix([one], Streams(7)).client("c", 0, 0)
    return [make(0.0) for _ in range(number)]


def scenario(**workload: Any) -> dict[str, Any]:
    return {
        "cluster": {"model": "standalone", "nodes": 1},
        "workload": workload,
        "run": {"duration_s": 0.2, "seed": 1},
    }


def test_a_new_order_of_sysbench_has_four_statements_for_each_line() -> None:
    made = transactions(classes("sysbench-tpcc", {"scale": 3})["new_order"], 400)
    lines = [one.rows // 2 - 1 for one in made]  # stock and order line, and three rows besides
    assert {len(one.statements) for one in made} == {5 + 4 * n for n in range(5, 16)}
    assert [len(one.statements) for one in made] == [5 + 4 * n for n in lines]
    # 400 draws of 11 values: each misses fewer than 5 with a probability of 1e-9.
    assert min(Counter(lines).values()) >= 5
    assert set(lines) == set(range(5, 16))


@pytest.mark.parametrize(
    ("tool", "kind", "statements", "rows"),
    [
        # Counted in tpcc_run.lua and in tpcc/*.go, without BEGIN and COMMIT; rows they write.
        ("sysbench-tpcc", "payment", 8, 4),
        ("sysbench-tpcc", "delivery", 70, 130),
        ("sysbench-tpcc", "stock_level", 2, 0),
        ("go-tpc", "payment", 8, 4),
        ("go-tpc", "delivery", 25, 130),
        ("go-tpc", "order_status", 4, 0),
    ],
)
def test_statements_and_rows_are_those_of_the_tool(
    tool: str, kind: str, statements: int, rows: int
) -> None:
    one = classes(tool, {})[kind]
    (made,) = transactions(one, 1)
    assert (len(made.statements), made.rows) == (statements, rows)
    assert one.mean(lambda step: step.statement_count) == statements
    assert one.mean(lambda step: step.rows_written) == rows


def test_rows_are_locked_before_they_are_written_and_certified_once() -> None:
    for made in transactions(classes("sysbench-tpcc", {"scale": 1})["delivery"], 20):
        select, delete = made.statements[:2]
        assert select.locks == delete.locks
        assert (select.rows_read, select.rows_written) == (1, 0)
        assert len(set(made.keys)) == len(made.keys)
        locked = {key for one in made.statements for key in one.locks}
        assert set(made.keys) == locked


def test_warehouses_decide_how_often_payments_meet() -> None:
    few, many = (
        simrep.run(scenario(preset="go-tpc", threads=16, tpcc={"warehouses": n})).runs[0]
        for n in (1, 400)
    )
    assert few.traffic.committed < 0.9 * many.traffic.committed


@pytest.mark.parametrize(
    ("own", "where"),
    [
        ({"step": [{}]}, "step.0.statements"),
        ({"step": [{"reads": 1}], "row_bytes": 7}, "row_bytes"),
        ({"step": [{"reads": 1}], "loop": [2, 3]}, "loop"),
        ({"step": [{"reads": 1, "loop": True}]}, "loop"),
        ({"step": [{"reads": 1, "loop": True}], "loop": [3, 2]}, "loop"),
        ({"step": [{"statements": 1, "for_update": True}]}, "step.0.for_update"),
        ({"step": [{"statements": 1, "rows": 9, "keys": {"distribution": "uniform", "rows": 8}}]},
         "step.0.rows"),
        ({"loop": [2, 3]}, "loop"),
    ],
)  # fmt: skip
def test_steps_that_mean_nothing_are_refused(own: dict[str, Any], where: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load(scenario(**{"class": [own]}))
    assert f"workload.class.0.{where}" in str(caught.value)


def test_words_belong_to_their_tool() -> None:
    for name, words, where in (
        ("go-tpc", {"scale": 3}, "workload.tpcc.scale"),
        ("sysbench-oltp-insert", TPCC, "workload.tpcc"),
        (None, TPCC, "workload.tpcc"),
    ):
        own: dict[str, Any] = {"tpcc": words} | ({"preset": name} if name else {})
        with pytest.raises(ScenarioError, match=where):
            load(scenario(**own))


def test_a_result_keeps_its_steps() -> None:
    result = simrep.run(scenario(preset="go-tpc", threads=2, tpcc=TPCC))
    again = simrep.run(result.scenario)
    assert again.runs[0].traffic.committed == result.runs[0].traffic.committed


def test_reads_of_random_rows_are_one_statement() -> None:
    words = {"number_of_ranges": 3, "delta": 9}
    for name, own, rows in (
        ("sysbench-select-random-points", {}, 10),
        ("sysbench-select-random-ranges", words, 30),
    ):
        (made,) = transactions(classes(name, own)["select"], 1)
        assert [one.rows_read for one in made.statements] == [rows]
        assert made.autocommit
