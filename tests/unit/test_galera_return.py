"""How a server of Galera comes back: who gives it what it has missed, and what that takes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from simrep.contract.model import Change
from simrep.models.galera.gcache import Gcache
from simrep.models.galera.gcomm.view import View
from simrep.models.galera.member_states import NOBODY, Grant, MemberState, MemberStates, Report
from simrep.models.galera.options import GaleraOptions
from simrep.models.galera.writeset import LocalTransaction, Ordered, Writeset
from simrep.runs.replication import simulate
from simrep.scenario import load
from simrep.workload.fate import FateCount
from simrep.workload.transaction import Transaction
from tests.clusters import GaleraCluster, timers, updates
from tests.streams import HOP_S, quiet_cluster

SUSPECT_S = 1.0
STARTS = {"recover_ms": 300.0, "start_ms": 200.0, "sst_script_ms": 100.0,
          "sst_bypass_ms": 50.0, "engine_start_ms": 150.0}  # fmt: skip
WRITESET_BYTES = 100 + 150 + 16 + 8


def cluster(*changes: Change, costs: dict[str, float] | None = None, **how: Any) -> GaleraCluster:
    options = timers(SUSPECT_S) | {"wsrep_slave_threads": 4}
    options |= how.pop("options", {})
    built = quiet_cluster(how.pop("size", 3), options=options, costs=costs, changes=True, **how)
    for change in changes:
        built.clock.at(change.at_s, built.model.change, change)
    return built


def all_the_time(node: int, size_bytes: int = 100) -> Iterator[Transaction]:
    for number in count():
        yield updates(node, node, number, size_bytes=size_bytes)


def noted(built: GaleraCluster, node: int) -> list[tuple[str, tuple[int, ...], str]]:
    words = {"donor", "joiner", "joined", "synced", "aborted"}
    lines = [one for one in built.noted if one.node == node and one.what in words]
    return [(one.what, one.of, one.how) for one in lines]


def noted_s(built: GaleraCluster, node: int, what: str) -> float:
    return next(one.at_s for one in built.noted if (one.node, one.what) == (node, what))


def away(
    *, from_s: float = 0.5, to_s: float = 3.0, what: str = "kill", **how: Any
) -> GaleraCluster:
    """Node 2 is away while a client writes on node 1."""
    built = cluster(Change(from_s, 2, what), Change(to_s, 2, "restart"), **how)  # type: ignore[arg-type]
    built.client(all_the_time(1), pause_s=0.02)
    return built


# -- incremental -----------------------------------------------------------------------------------


def test_who_was_restarted_applies_what_it_has_missed_when_its_engine_runs() -> None:
    built = away(costs=STARTS)
    built.clock.run(6.0)
    asked_s, begun_s = noted_s(built, 2, "joiner"), noted_s(built, 2, "applies")
    assert 0.15 < begun_s - asked_s < 0.5
    assert begun_s < noted_s(built, 2, "joined")


@pytest.mark.parametrize("what", ["kill", "leave"])
def test_who_comes_back_gets_all_that_it_has_missed_once(what: str) -> None:
    built = away(what=what, costs=STARTS)
    built.clock.run(6.0)
    first, _, third = (history.commits for history in built.histories())
    assert third == first[: len(third)]
    assert len(third) >= len(first) - 3
    assert noted(built, 2) == [("joiner", (1,), "IST"), ("joined", (), ""), ("synced", (), "")]
    assert noted(built, 1) == [("donor", (2,), "IST"), ("joined", (), ""), ("synced", (), "")]


def test_a_donor_that_has_the_answer_first_waits_for_the_joiner() -> None:
    """Where messages are late, the joiner knows of its donor after that one has begun."""
    scenario = load({
        "cluster": {"model": "galera", "nodes": 3, "shared_host": True},
        "network": {"rtt_ms": 0.1, "jitter": {"kind": "exponential", "mean_ms": 3.0}},
        "workload": {"think_time_ms": 50},
        "fault": [
            {"what": "kill", "node": "n3", "at_s": 0.5},
            {"what": "restart", "node": "n3", "at_s": 8.0},
        ],
        "run": {"duration_s": 18},
    })  # fmt: skip
    for seed in range(1, 5):
        noted = simulate(scenario, seed).noted
        assert any((one.node, one.what) == (2, "synced") for one in noted), seed


def test_a_start_takes_what_its_parts_take() -> None:
    built = away(costs=STARTS)
    built.clock.run(6.0)
    asked_s = 3.0 + 0.3 + 0.2 + 0.1
    slice_s = 0.5  # after which a join message meets links
    assert slice_s < noted_s(built, 2, "joiner") - asked_s < slice_s + 24 * HOP_S
    # The donor is back when its script is, the joiner when its storage engine runs as well.
    gives_s = noted_s(built, 1, "donor")
    assert noted_s(built, 1, "joined") - gives_s == pytest.approx(0.05, abs=4 * HOP_S)
    assert noted_s(built, 2, "joined") - gives_s == pytest.approx(0.05 + 0.15, abs=6 * HOP_S)


def test_what_was_missed_goes_over_the_network_beside_what_is_new() -> None:
    built = away(bytes_per_s=50_000.0)
    built.clock.run(3.0)
    missed = built.status(0, "wsrep_last_committed") - built.status(2, "wsrep_last_committed")
    built.clock.run(8.0)
    took_s = noted_s(built, 2, "joined") - noted_s(built, 2, "joiner")
    least_s = missed * WRITESET_BYTES / 50_000.0
    assert least_s < took_s < 2 * least_s + 8 * HOP_S
    assert built.histories()[2].commits[-1] >= built.histories()[0].commits[-1] - 3


def test_what_was_missed_is_applied_in_parallel() -> None:
    def takes_s(threads: int) -> float:
        built = away(
            what="leave", options={"wsrep_slave_threads": threads, "gcs.fc_limit": 1000},
            costs={"apply_us": 20_000.0},
        )  # fmt: skip
        built.clock.run(8.0)
        return noted_s(built, 2, "joined") - noted_s(built, 2, "joiner")

    assert takes_s(1) > 3 * takes_s(4)


# -- all data --------------------------------------------------------------------------------------

SMALL: dict[str, Any] = {"gcache.size": 2000}  # seven writesets
FAST = {"sst_byte_ns": 0.1}  # a second for 10 GB


@pytest.mark.parametrize(("method", "blocks"), [("rsync", True), ("clone", False)])
def test_who_has_missed_too_much_gets_all_data(method: str, blocks: bool) -> None:
    built = away(options=SMALL | {"wsrep_sst_method": method}, costs=FAST)
    built.clock.run(4.4)
    assert noted(built, 0) == [("donor", (2,), "SST")]
    behind = built.status(1, "wsrep_last_committed") - built.status(0, "wsrep_last_committed")
    assert (behind > 10) == blocks
    built.clock.run(6.0)
    looks_s = float(blocks)  # the script that gets rsync's files looks once a second
    took_s = noted_s(built, 2, "joined") - noted_s(built, 2, "joiner")
    assert 1.0 < took_s < 1.0 + looks_s + 16 * HOP_S
    last = [built.status(node, "wsrep_last_committed") for node in range(3)]
    assert max(last) - min(last) <= 3
    # What came with the data was not committed here one by one.
    commits = built.histories()[2].commits
    missed = set(built.histories()[1].commits) - set(commits)
    assert len(missed) > 20
    assert min(missed) > commits[0]


@pytest.mark.parametrize("sync", [False, True])
def test_a_donor_stops_the_others_only_with_sync_donor(sync: bool) -> None:
    built = away(options=SMALL | {"gcs.fc_limit": 1, "gcs.sync_donor": sync}, costs=FAST)
    for client in range(1, 5):
        built.client([updates(client, 1, n) for n in range(300)], begin_s=3.2)
    built.clock.run(4.0)
    assert (built.status(0, "wsrep_flow_control_sent") > 0) == sync


# -- what may go wrong -----------------------------------------------------------------------------


def test_a_joiner_whose_donor_goes_ends_itself() -> None:
    built = cluster(
        Change(0.5, 2, "leave"),
        Change(1.0, 2, "restart"),
        Change(1.7, 1, "leave"),
        Change(6.0, 2, "restart"),
        costs={"engine_start_ms": 5000.0},
    )
    built.client(all_the_time(0), pause_s=0.02)
    built.clock.run(5.0)
    assert noted(built, 2) == [("joiner", (1,), "IST"), ("aborted", (), "its donor has gone")]
    built.clock.run(13.0)
    assert noted(built, 2)[2:] == [("joiner", (0,), "IST"), ("joined", (), ""), ("synced", (), "")]
    assert built.histories()[2].commits[-1] >= built.histories()[0].commits[-1] - 3


def all_crash(*then: Change) -> tuple[GaleraCluster, float]:
    """All servers die at once; and how far the first was, which is far ahead of the others."""
    # The others apply slowly: they have received what they have not committed.
    built = cluster(
        *[Change(2.0, node, "kill") for node in range(3)], *then, costs={"apply_us": 45_000.0},
        options={"gcs.fc_limit": 1000, "wsrep_slave_threads": 1},
    )  # fmt: skip
    built.client(all_the_time(0), pause_s=0.001)
    built.clock.run(2.5)
    first, *others = [built.status(node, "wsrep_last_committed") for node in range(3)]
    assert all(other < first - 3 for other in others)
    return built, first


def test_after_all_have_crashed_the_most_advanced_gives_to_the_others() -> None:
    restarts = [Change(3.0 + 0.1 * node, node, "restart") for node in range(3)]
    built, first = all_crash(*restarts)
    built.clock.run(9.0)
    assert noted(built, 1)[0] == ("joiner", (0,), "IST")
    assert noted(built, 2)[0][2] == "IST"
    assert {noted(built, node)[-1][0] for node in range(3)} == {"synced"}
    assert len(built.committed) > first
    assert built.status(1, "wsrep_last_committed") > first


def test_who_is_bootstrapped_without_all_that_was_committed_loses_the_rest() -> None:
    built, first = all_crash(Change(3.0, 1, "bootstrap"), Change(5.0, 0, "restart"))
    built.clock.run(8.0)
    assert noted(built, 1)[0] == ("synced", (), "")
    less = built.status(1, "wsrep_last_committed")
    assert less < first - 3
    assert noted(built, 0) == [
        ("aborted", (), f"it has {first:.0f} writesets and the group {less:.0f}")
    ]


@pytest.mark.parametrize(
    ("flush", "what", "loses"),
    [
        (1, "kill", False), (1, "power-loss", False),
        (2, "kill", False), (2, "power-loss", True),
        (0, "kill", True), (0, "leave", False),
    ],
)  # fmt: skip
def test_what_is_on_the_disk_of_a_server_that_ends(flush: int, what: str, loses: bool) -> None:
    built = cluster(options={"innodb_flush_log_at_trx_commit": flush})
    built.client(all_the_time(0), pause_s=0.02)
    built.clock.run(1.0)
    at_flush = built.status(2, "wsrep_last_committed")
    built.clock.run(1.9)
    at_end = built.status(2, "wsrep_last_committed")
    position = built.model.nodes[2].remains(what).position
    assert position == pytest.approx(at_flush if loses else at_end, abs=1)
    assert at_end > at_flush + 5


# -- who is chosen ---------------------------------------------------------------------------------

SYNCED, PRIMARY = MemberState.SYNCED, MemberState.PRIMARY


def told(position: int, *, primary: int = 4, cached: int | None = 1, state: MemberState = SYNCED,
         views: int = 0, donor: int | None = None) -> Report:  # fmt: skip
    return Report(primary, position, views, state, cached, donor)


def group(*reports: Report, segments: tuple[int, ...] = (), named: tuple[int | None, ...] = (None,),
          ordered_views: bool = True) -> MemberStates:  # fmt: skip
    size = len(reports)
    states = MemberStates(0, segments or (0,) * size, named, ordered_views=ordered_views)
    assert not states.change(View(9, tuple(range(size)), (), (), True, reports))
    return states


BEHIND = told(500, primary=2)


@pytest.mark.parametrize(
    ("reports", "how", "grant"),
    [
        ([told(1000), told(1000), BEHIND], {}, Grant(1, "IST")),  # the last of equals
        ([told(1000, cached=9), told(1000), BEHIND], {}, Grant(0, "IST")),  # the highest cached
        ([told(1000, cached=502), told(1000), BEHIND], {}, Grant(1, "IST")),  # it lacks 501
        ([told(1000), told(1000), BEHIND], {"named": (0,)}, Grant(0, "IST")),
        ([told(1000, cached=600), told(1000, cached=600), BEHIND], {"named": (1, None)},
         Grant(1, "SST")),
        ([told(1000, cached=600), told(1000, state=MemberState.DONOR), BEHIND], {"named": (1,)},
         None),
        ([told(1000, cached=600), told(500, primary=2), BEHIND], {"named": (1,)},
         Grant(NOBODY, "SST")),
        ([told(1000), told(1000), BEHIND], {"segments": (1, 0, 1)}, Grant(0, "IST")),
        # 496 is the lowest that is cached, and a 128th of 504 are set aside.
        ([told(1000, cached=496), told(1000, cached=496), told(500, primary=2, cached=None)], {},
         Grant(1, "IST")),
        ([told(1000, cached=498), told(1000, cached=498), told(500, primary=2, cached=None)], {},
         Grant(0, "SST")),
        ([told(1000, cached=None), told(1000, cached=None), BEHIND], {}, Grant(0, "SST")),
        ([told(1000, cached=600)] * 2 + [BEHIND], {"segments": (0, 1, 1)}, Grant(1, "SST")),
        ([told(1000, state=MemberState.DONOR), told(1000), BEHIND], {"segments": (1, 0, 1)},
         Grant(1, "IST")),
        ([told(1000, cached=600, state=MemberState.DONOR), told(1000, cached=600), BEHIND],
         {"segments": (1, 0, 1)}, None),
        ([told(1000, state=MemberState.DONOR), told(1000, state=MemberState.JOINED), BEHIND], {},
         None),
    ],
)  # fmt: skip
def test_who_gives_the_state(reports: list[Report], how: Any, grant: Grant | None) -> None:
    assert group(*reports, **how).request(2, 500, anew=True) == grant


def test_who_was_away_for_a_view_lacks_something_in_galera_4_only() -> None:
    was_away = told(1000, primary=2)
    for ordered_views, state in ((True, PRIMARY), (False, SYNCED)):
        others = told(1000, views=int(ordered_views))
        states = group(others, others, was_away, ordered_views=ordered_views)
        grant = states.request(2, 1000, anew=False)
        assert (grant is not None) == (state == PRIMARY)


def test_who_has_more_than_the_group_ends_itself() -> None:
    states = MemberStates(1, (0, 0), (), ordered_views=True)
    why = states.change(View(9, (0, 1), (), (), True, (told(10), told(20, primary=2))))
    assert why == "it has 20 writesets and the group 10"


# -- gcache ----------------------------------------------------------------------------------------


def test_a_gcache_keeps_what_has_room() -> None:
    built = cluster()
    cache = Gcache(1000)
    assert cache.lowest is None
    for seqno in range(1, 11):
        local = LocalTransaction(built.clock)
        cache.add(Ordered(Writeset(updates(0, 0, seqno), local), seqno))
    assert [one.seqno for one in cache.between(0, 10)] == [8, 9, 10]
    assert cache.lowest == 8
    cache.release(8)
    assert [one.seqno for one in cache.between(7, 10)] == [9, 10]
    assert cache.lowest == 8
    cache.cut(9)
    assert [one.seqno for one in cache.between(7, 10)] == [9]
    assert cache.lowest == 8


def test_sizes_are_written_as_the_provider_writes_them() -> None:
    assert GaleraOptions.model_validate({"gcache.size": "2G"}).gcache_bytes == 2 << 30
    assert GaleraOptions().gcache_bytes == 128 << 20


# -- what becomes of transactions ------------------------------------------------------------------


def test_what_no_disk_has_is_lost_when_all_crash() -> None:
    def fates(flush: int) -> FateCount:
        end = [{"what": "kill", "node": f"n{node}", "at_s": 2.5} for node in (1, 2, 3)]
        back = [{"what": "restart", "node": f"n{node}", "at_s": 3.0} for node in (1, 2, 3)]
        content = {
            "cluster": {
                "model": "galera",
                "options": {"innodb_flush_log_at_trx_commit": flush},
                "costs": dict.fromkeys(STARTS, 10.0),
            },
            "workload": {"rate_tps": 50, "connections": 4, "nodes": ["n1"]},
            "fault": end + back,
            "run": {"warmup_s": 0, "duration_s": 12},
        }
        counted = simulate(load(content), 1).fates
        assert counted is not None
        return counted

    assert fates(1).lost == 0
    assert 10 <= fates(0).lost <= 50


# -- a server that was cut off, and has run on -----------------------------------------------------


@pytest.mark.parametrize("gcache", ["128M", "4K"])
def test_a_server_that_was_cut_off_gets_what_it_has_missed_or_ends_itself(gcache: str) -> None:
    content = {
        "cluster": {"model": "galera", "options": {"gcache.size": gcache}},
        "workload": {"rate_tps": 30, "connections": 8, "nodes": ["n1", "n3"]},
        "fault": [{"what": "cut", "node": "n3", "at_s": 2.0, "until_s": 12.0}],
        "run": {"warmup_s": 0, "duration_s": 22},
    }
    run = simulate(load(content), 1)
    words = ("joiner", "joined", "synced", "aborted")
    own = [(one.what, one.of, one.how) for one in run.noted if one.node == 2 and one.what in words]
    if gcache == "4K":
        assert [what for what, _, _ in own] == ["joiner", "aborted"]
        return
    assert own == [("joiner", (1,), "IST"), ("joined", (), ""), ("synced", (), "")]
    last = {counters["wsrep_last_committed"] for counters in run.counters.values()}
    assert max(last) - min(last) <= 1
    assert run.fates is not None
    assert run.fates.lost == run.fates.duplicated == 0
