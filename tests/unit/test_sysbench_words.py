"""Presets in sysbench's own words, a warning of their defaults, and runs that conflicts decide."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import pytest

import simrep
from simrep.errors import ContentionWarning, ScenarioError
from simrep.scenario import load, with_values
from simrep.scenario.sysbench import DEFAULTS, KEY_WORDS, SysbenchTable
from simrep.workload.classes import TransactionClass
from simrep.workload.keys import Keys
from tests.stand_in import transactions

READ_WRITE = "sysbench-oltp-read-write"


def scenario(preset: str = READ_WRITE, threads: int = 2, **words: Any) -> dict[str, Any]:
    workload = {"preset": preset, "threads": threads}
    return {
        "cluster": {"model": "standalone", "nodes": 1},
        "workload": {**workload, "sysbench": words} if words else workload,
        "run": {"duration_s": 0.2},
    }


def classes(preset: str = READ_WRITE, **words: Any) -> list[dict[str, Any]]:
    loaded = load(scenario(preset, **words))
    return [one.model_dump(exclude_unset=True, by_alias=True) for one in loaded.workload.classes]


HOT = {"distribution": "hot", "rows": 10_000, "hot_rows": 100, "hot_fraction": 0.75}


# -------------------------------------------------------------------- words --
def test_the_defaults_are_those_of_the_named_version() -> None:
    # src/lua/oltp_common.lua and src/sb_rand.c of 1.0.20; rand_zipfian_exp is that of 1.1.
    assert DEFAULTS.keys() == SysbenchTable.model_fields.keys()
    assert classes() == [
        {
            "name": "read-write", "table": "sbtest1", "reads": 10, "range_reads": 4,
            "range_rows": 100, "statements": 4, "row_bytes": 382, "autocommit": False, "keys": HOT,
        }
    ]  # fmt: skip
    others = ("rand_spec_iter", "rand_pareto_h", "rand_zipfian_exp", "random_points",
              "number_of_ranges", "delta")  # fmt: skip
    spoken = {word: value for word, value in DEFAULTS.items() if word not in others}
    assert classes() == classes(**spoken) == classes(table_size=10_000)


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        ({"table_size": 50_000}, {**HOT, "rows": 50_000, "hot_rows": 500}),
        ({"tables": 16}, {**HOT, "tables": 16}),
        ({"rand_spec_pct": 5, "rand_spec_res": 50}, {**HOT, "hot_rows": 500, "hot_fraction": 0.5}),
        ({"rand_type": "uniform"}, {"distribution": "uniform", "rows": 10_000}),
        (
            {"rand_type": "gaussian"},
            {"distribution": "gaussian", "rows": 10_000, "iterations": 12},
        ),
        ({"rand_type": "pareto"}, {"distribution": "pareto", "rows": 10_000, "pareto_h": 0.2}),
        ({"rand_type": "zipfian"}, {"distribution": "zipf", "rows": 10_000, "exponent": 0.8}),
    ],
)
def test_words_say_which_rows_are_written(words: dict[str, Any], keys: dict[str, Any]) -> None:
    assert words.keys() <= {*KEY_WORDS}
    for preset in (READ_WRITE, "sysbench-oltp-write-only", "sysbench-oltp-update-non-index"):
        assert [one["keys"] for one in classes(preset, **words)] == [keys]


def test_words_say_what_a_transaction_does() -> None:
    (one,) = classes(
        point_selects=3, sum_ranges=0, order_ranges=5, range_size=7, index_updates=4,
        delete_inserts=2,
    )  # fmt: skip
    assert (one["reads"], one["range_reads"], one["range_rows"]) == (3, 7, 7)
    assert (one["statements"], one["row_bytes"]) == (9, (5 * 480 + 4 * 285) // 9)
    (one,) = classes("sysbench-oltp-read-only", range_selects=False)
    assert (one["statements"], one["reads"], one["range_reads"]) == (0, 10, 0)
    assert "keys" not in one
    (one,) = classes("sysbench-oltp-write-only")
    assert (one["statements"], one["reads"]) == (4, 0)
    (one,) = classes("sysbench-oltp-point-select")
    assert (one["statements"], one["reads"]) == (0, 1)


def test_without_transactions_every_statement_is_one() -> None:
    lone = {one["name"]: one["weight"] for one in classes(skip_trx=True, point_selects=0)}
    assert lone == {"range-select": 4, "update": 2, "delete-insert": 2}
    result = simrep.run(scenario(skip_trx=True))
    assert result.classes.keys() == {"point-select", "range-select", "update", "delete-insert"}


@pytest.mark.parametrize(
    ("preset", "words", "path", "says"),
    [
        ("mysqlslap-insert", {"tables": 2}, "sysbench", "'mysqlslap-insert' is another tool"),
        ("sysbench-oltp-insert", {"tables": 2}, "sysbench.tables", "its rows are new"),
        ("sysbench-oltp-read-only", {"rand_type": "uniform"}, "sysbench.rand_type", "only reads"),
        ("sysbench-oltp-write-only", {"range_size": 2}, "sysbench.range_size", "would ignore it"),
        (
            READ_WRITE,
            {"rand_type": "uniform", "rand_spec_pct": 2},
            "sysbench.rand_spec_pct",
            "rand_type 'uniform' would ignore it",
        ),
        (READ_WRITE, {"rand_spec_iter": 2}, "sysbench.rand_spec_iter", "it knows rand_spec_pct"),
        (READ_WRITE, {"table-size": 2}, "sysbench.table-size", "did you mean 'table_size'?"),
        (READ_WRITE, {"rand_type": "zipf"}, "sysbench.rand_type", "zipfian"),
        (READ_WRITE, {"tables": 0}, "sysbench.tables", "at least 1"),
        (READ_WRITE, {"skip_trx": "on"}, "sysbench.skip_trx", "true or false"),
    ],
)  # fmt: skip
def test_words_that_would_be_ignored_are_refused(
    preset: str, words: dict[str, Any], path: str, says: str
) -> None:
    with pytest.raises(ScenarioError) as refused:
        load(scenario(preset, **words))
    assert refused.value.path == f"workload.{path}"
    assert says in str(refused.value)


def test_words_without_a_preset_are_refused() -> None:
    content = scenario(tables=2)
    del content["workload"]["preset"]
    with pytest.raises(ScenarioError, match="no preset is given"):
        load(content)


def test_words_and_classes_do_not_contradict_each_other() -> None:
    content = scenario(table_size=5000)
    content["workload"]["class"] = [{"keys": {"distribution": "uniform", "rows": 7}}]
    with pytest.raises(ScenarioError, match=r"class\.0\.keys: says otherwise than table_size"):
        load(content)
    content["workload"]["class"] = [{"row_bytes": 77, "reads": 1}]
    (one,) = load(content).workload.classes
    assert (one.row_bytes, one.reads, one.keys.rows) == (77, 1, 5000)
    again = load(load(scenario(tables=3)).to_dict())
    assert again.workload.classes[0].keys.tables == 3
    with pytest.raises(ScenarioError, match="says otherwise than rand_type"):
        with_values(again, {"workload.sysbench.rand_type": "uniform"})


# ------------------------------------------------------------ distributions --
def places(keys: Keys, number: int = 50_000) -> list[int]:
    one = TransactionClass(keys=keys)
    return [int(found.keys[0]) for found in transactions(one, number)]  # type: ignore[call-overload]


def test_gaussian_rows_crowd_around_the_middle() -> None:
    found = places(Keys("gaussian", rows=1200))
    mean = sum(found) / len(found)
    deviation = (sum((place - mean) ** 2 for place in found) / len(found)) ** 0.5
    assert mean == pytest.approx(599.5, abs=5 * 100 / len(found) ** 0.5)  # five standard errors
    assert deviation == pytest.approx(100.0, rel=5 / (2 * len(found)) ** 0.5)
    assert 0 <= min(found) < max(found) < 1200


def test_a_share_h_of_pareto_rows_gets_the_rest_of_the_choices() -> None:
    found = places(Keys("pareto", rows=1000, pareto_h=0.2))
    share = sum(place < 200 for place in found) / len(found)
    assert share == pytest.approx(0.8, abs=5 * (0.16 / len(found)) ** 0.5)
    first = sum(place == 0 for place in found) / len(found)
    expected = Keys("pareto", rows=1000).first_row()
    assert first == pytest.approx(expected, abs=5 * (0.25 / len(found)) ** 0.5)


def test_tables_are_chosen_evenly_and_rows_stay_inside() -> None:
    keys = Keys("hot", rows=100, hot_rows=5, hot_fraction=0.5, tables=4)
    found = places(keys)
    by_table = Counter(place // 100 for place in found)
    assert set(by_table) == set(range(4))
    for count in by_table.values():
        assert count == pytest.approx(12_500, abs=5 * (50_000 * 0.1875) ** 0.5)
    hot = sum(place % 100 < 5 for place in found) / len(found)
    assert hot == pytest.approx(0.5, abs=5 * (0.25 / len(found)) ** 0.5)
    several = TransactionClass(rows=7, keys=Keys("uniform", rows=10, tables=3))
    for transaction in transactions(several, 300):
        assert len({int(key) // 10 for key in transaction.keys}) == 1  # type: ignore[call-overload]
    large = TransactionClass(rows=1500, keys=Keys("uniform", rows=2000, tables=3))
    for transaction in transactions(large, 50):
        (rows,) = transaction.ranges
        assert rows[0] // 2000 == rows[-1] // 2000


@pytest.mark.parametrize(
    "keys",
    [
        Keys("uniform", rows=50),
        Keys("uniform", rows=20, tables=3),
        Keys("hot", rows=200, hot_rows=4, hot_fraction=0.7),
        Keys("zipf", rows=100, exponent=0.8),
        Keys("gaussian", rows=100),
        Keys("pareto", rows=100),
        Keys("scan", rows=9, tables=2),
    ],
)
def test_how_often_two_choices_meet(keys: Keys) -> None:
    found = places(keys)
    pairs = zip(found[::2], found[1::2], strict=True)
    same = sum(one == other for one, other in pairs) / (len(found) / 2)
    # Five standard deviations of a share of 25,000 pairs; of gaussian an approximation.
    assert same == pytest.approx(keys.same_row(), abs=5 * (same / 25_000) ** 0.5 + 2e-4)


# ------------------------------------------------------------------ the trap --
def warned(content: dict[str, Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        simrep.run(content)
    return [str(one.message) for one in caught if one.category is ContentionWarning]


def test_the_defaults_are_warned_before_a_run_that_they_decide() -> None:
    (said,) = warned(scenario(threads=64))
    assert "75% of the choices fall on 100 of 10,000 rows" in said
    assert "sysbench 1.0.20" in said
    for word in ("table_size", "tables", "rand_type"):
        assert word in said
    assert not warned(scenario(threads=4))
    assert not warned(scenario("sysbench-oltp-insert", threads=64))
    for words in ({"rand_type": "special"}, {"table_size": 10_000}, {"tables": 1}):
        assert not warned(scenario(threads=64, **words))
    assert warned(scenario(threads=64, point_selects=1))
    pinned = scenario(threads=64)
    pinned["workload"]["class"] = [{"keys": HOT}]
    assert not warned(pinned)
    line = scenario()
    line["workload"] = {"preset": READ_WRITE, "rate_tps": 50.0, "connections": 64}
    assert warned(line)


def test_comparisons_and_plans_say_so_too() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        simrep.compare(scenario(threads=32), scenario(threads=3, tables=2), replications=2)
        simrep.sweep(scenario(threads=32), {"network.rtt_ms": [1, 2]}, cache=False)
    said = [str(one.message) for one in caught if one.category is ContentionWarning]
    assert len(said) == 2  # a comparison names the scenario, a sweep says it once
    assert said[0].startswith("A: preset")
    assert all("75%" in one for one in said)


def test_a_run_that_conflicts_decide_says_why() -> None:
    far = {"cluster": {"model": "galera"}, "network": {"rtt_ms": 5}, "run": {"duration_s": 0.6}}
    result = simrep.run(scenario(threads=48, rand_type="special") | far)
    assert "row locks take" in result.contention
    assert "class 'read-write'" in result.contention
    assert "75% of the choices fall on 100 of 10,000 rows" in result.contention
    assert 'rand_type = "uniform"' in result.contention
    assert "Conflicts decide this run" in str(result)
    assert result.to_dict()["contention"] == result.contention
    quiet = simrep.run(scenario(threads=48, rand_type="uniform", table_size=1_000_000) | far)
    assert quiet.contention == ""
    assert "contention" not in quiet.to_dict()


def writers(**one: Any) -> dict[str, Any]:
    keys = {"distribution": "uniform", "rows": 30}
    return {
        "cluster": {"model": "galera"},
        "network": {"rtt_ms": 20},
        "workload": {"threads": 12, "nodes": ["*"], "class": [{"keys": keys, **one}]},
        "run": {"duration_s": 0.6},
    }


def test_conflicts_between_writers_decide_as_well() -> None:
    result = simrep.run(writers(statements=3))
    share = result.aborted / (result.aborted + result.committed)
    assert share > 0.2
    assert f"{share:.0%} of the attempts fail (1213)" in result.contention
    # The server repeats an autocommit statement itself.
    again = simrep.run(writers(keys={"distribution": "uniform", "rows": 5}))
    assert "attempts before the last take" in again.contention


def test_attempts_that_fail_for_another_reason_are_no_conflicts() -> None:
    content = {
        "cluster": {"model": "galera", "options": {"wsrep_max_ws_size": 1024}},
        "workload": {
            "threads": 2,
            "class": [{"rows": 50, "keys": {"distribution": "uniform", "rows": 10_000_000}}],
        },
        "run": {"duration_s": 0.05},
    }
    with pytest.warns(simrep.ShortRunWarning):
        result = simrep.run(content)
    assert result.aborted > 0
    assert result.contention == ""


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"distribution": "uniform", "rows": 2}, "fall on 2 rows evenly"),
        (
            {"distribution": "zipf", "rows": 9, "exponent": 4.0},
            "choices fall on the first",
        ),
        ({"distribution": "pareto", "rows": 3, "tables": 2}, "of 3 rows of each of 2 tables"),
        ({"distribution": "gaussian", "rows": 3}, "around the middle of 3 rows"),
        ({"distribution": "scan", "rows": 3}, "begins with the first of 3 rows"),
    ],
)
def test_it_says_which_rows_they_are(keys: dict[str, Any], says: str) -> None:
    content = scenario()
    content["workload"] = {"threads": 12, "class": [{"name": "tight", "keys": keys}]}
    content["cluster"]["costs"] = {"fsync_us": 2000}
    said = simrep.run(content).contention
    assert says in said
    assert "more rows (keys.rows)" in said
