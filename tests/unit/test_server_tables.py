"""What clients print, counters between two moments, and what sysbench prints."""

import pytest

from simrep.contract.server_reading import StatusFigures
from simrep.errors import ScenarioError
from simrep.intake.client_tables import pairs, rows_of
from simrep.intake.sysbench import sysbench_of
from tests.server_files import (
    GALERA_AFTER,
    GALERA_BEFORE,
    SYSBENCH,
    SYSBENCH_OLD,
    as_batch,
    as_box,
    as_vertical,
    boxed,
)

MEMBERS = [
    ("CHANNEL_NAME", "MEMBER_ID", "MEMBER_HOST", "MEMBER_STATE", "MEMBER_ROLE"),
    ("group_replication_applier", "0b-1", "db1", "ONLINE", "PRIMARY"),
    ("group_replication_applier", "0b-2", "db2", "ONLINE", "SECONDARY"),
]


def values(text):
    return {name: given.value for name, given in pairs(rows_of(text, "status.txt")).items()}


def status(before, after):
    first, second = (pairs(rows_of(as_batch(one), "s.txt")) for one in (before, after))
    return StatusFigures(second, first)


# -- tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [as_box, as_vertical, as_batch, lambda known: as_batch(known, heading=False)],
    ids=["box", "vertical", "batch", "no heading"],
)
def test_every_form_holds_the_same(form):
    assert values(form(GALERA_AFTER)) == {name.lower(): v for name, v in GALERA_AFTER.items()}


def test_rows_know_their_line():
    given = pairs(rows_of(as_box({"Uptime": "5", "Com_insert": "7"}), "s.txt"))
    assert given["com_insert"].place == ("s.txt", 6)
    vertical = pairs(rows_of(as_vertical({"Uptime": "5", "Com_insert": "7"}), "s.txt"))
    assert vertical["com_insert"].place == ("s.txt", 4)


def test_a_variable_may_be_called_as_a_column_is():
    text = "Variable_name\tValue\nserver_id\t1\nwsrep_on\tON\n"
    assert pairs(rows_of(text, "variables.txt"))["wsrep_on"].value == "ON"


def test_values_may_hold_bars_colons_and_nothing():
    known = {"a": "x | y", "b": "10:20; c = d", "c": ""}
    for form in (as_box, as_vertical, as_batch):
        assert values(form(known)) == known


def test_several_tables_in_one_file():
    batch = "".join("\t".join(row) + "\n" for row in MEMBERS)
    for members in (boxed(MEMBERS), batch):
        status = boxed([("Variable_name", "Value"), ("a", "1")])
        for text in (members + status, as_batch({"a": "1"}) + members):
            rows = rows_of(text, "s.txt")
            assert pairs(rows)["a"].value == "1"
            hosts = [row.cells["member_host"] for row in rows if "member_host" in row.cells]
            assert hosts == ["db1", "db2"]


def test_the_version_of_the_status_command():
    text = "Connection id:\t\t12\nServer version:\t\t8.0.36-28.1 Percona\nUptime:\t\t3 days\n"
    assert values(text) == {"version": "8.0.36-28.1 Percona"}


def test_other_texts_hold_nothing():
    assert not rows_of("Hello\n\nmysql> quit\nBye\n", "s.txt")


# -- counters ------------------------------------------------------------------------------------


def test_counters_are_rates_between_two_moments():
    found = status(GALERA_BEFORE, GALERA_AFTER)
    assert found.seconds.value == 5.0
    assert found.rate("wsrep_replicated").value == pytest.approx(4478 / 5)
    assert found.rate("Com_insert", "Com_delete", "Com_none").value == pytest.approx(9218 / 5)
    assert found.rate("Com_none") is None
    assert found.latest("wsrep_cluster_size").value == 3


def test_one_moment_counts_since_the_start_or_the_last_flush():
    known = {"Uptime": "100", "Uptime_since_flush_status": "50", "Com_insert": "500"}
    after = pairs(rows_of(as_batch({**known, "wsrep_replicated": "500"}), "s.txt"))
    found = StatusFigures(after, lasting=("wsrep_",))
    assert found.rate("com_insert").value == 10.0
    assert found.rate("wsrep_replicated").value == 5.0


def test_a_counter_that_begins_between_the_two_counts_from_zero():
    after = {**GALERA_AFTER, "Com_xa_commit": "10"}
    assert status(GALERA_BEFORE, after).rate("com_xa_commit").value == 2.0


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (GALERA_AFTER, GALERA_BEFORE, "earlier one first"),
        (GALERA_AFTER, GALERA_AFTER, "Uptime is 1005 s"),
        ({"a": "1"}, GALERA_AFTER, "Uptime is missing"),
    ],
)
def test_two_moments_have_to_be_of_one_server_in_order(before, after, message):
    with pytest.raises(ScenarioError, match=message):
        status(before, after)


def test_a_counter_that_went_back_is_refused():
    with pytest.raises(ScenarioError, match="Com_insert went from 9 to 3"):
        status({"Uptime": "1", "Com_insert": "9"}, {"Uptime": "2", "Com_insert": "3"}).rate(
            "com_insert"
        )


# -- sysbench ------------------------------------------------------------------------------------


def test_what_sysbench_prints():
    """Attempts that failed have submitted statements: a transaction has ten reads and four more."""
    found = sysbench_of(SYSBENCH, "sb.txt")
    assert (found.threads, found.transactions, found.seconds) == (32, 4478, 5.0388)
    assert (found.reads, found.writes, found.others) == (14, 4, 2)
    assert found.mean_s == pytest.approx(0.03586)
    assert found.percentile == (95, pytest.approx(0.06219))
    assert found.throughput_tps == pytest.approx(888.7, abs=0.1)
    assert found.target_tps is None


def test_what_old_sysbench_printed():
    found = sysbench_of(SYSBENCH_OLD, "sb.txt")
    assert (found.threads, found.reads, found.writes, found.others) == (16, 14, 5, 2)
    assert found.mean_s == pytest.approx(0.03352)
    assert found.percentile == (95, pytest.approx(0.0495))


def test_a_rate_that_was_asked_for():
    rate = "Target transaction rate: 500/sec\n"
    text = SYSBENCH.replace("Initializing random", f"{rate}Initializing random", 1)
    assert sysbench_of(text, "sb.txt").target_tps == 500.0


@pytest.mark.parametrize("line", ["Number of threads: 32", "avg:", "total time:"])
def test_a_figure_that_is_missing_is_named(line):
    name = {"Number of threads: 32": "threads", "avg:": "mean_ms", "total time:": "seconds"}[line]
    with pytest.raises(ScenarioError, match=f"sb.txt has no {name}"):
        sysbench_of(SYSBENCH.replace(line, "?"), "sb.txt")


def test_a_run_without_a_commit_is_refused():
    with pytest.raises(ScenarioError, match="nothing was committed"):
        sysbench_of(SYSBENCH.replace("4478   (888", "0   (0"), "sb.txt")
