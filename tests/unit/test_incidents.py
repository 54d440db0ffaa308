"""What a run says of each fault: from lines of a time line, and from what clients saw."""

import pytest

import simrep
from simrep.kernel.timeline import Noted
from simrep.measure.attempts import WAITING, AttemptLog
from simrep.measure.spread import over_replications, spread_dict
from simrep.runs.fault_report import Faults
from simrep.runs.incidents import incidents
from simrep.runs.phases import phases

NAMES = ("n1", "n2", "n3")


def scenario(*faults, duration_s=60.0):
    return simrep.load({
        "cluster": {"model": "galera", "nodes": list(NAMES)},
        "fault": list(faults),
        "run": {"duration_s": duration_s},
    })  # fmt: skip


def kill(at_s, node="n3"):
    return {"name": f"{node} dies", "at_s": at_s, "node": node, "what": "kill"}


def lines(*rows):
    def line(at_s, node, what, of=(), how=""):
        return Noted(at_s, NAMES.index(node), what, tuple(map(NAMES.index, of)), how)

    return [line(*row) for row in rows]


BOTH, ALL = ("n1", "n2"), NAMES
A_CRASH = (
    (10.02, "n1", "link-closed", ("n3",)),
    (15.13, "n1", "suspect", ("n3",)),
    (15.64, "n2", "suspect", ("n3",)),
    (16.14, "n1", "stable", BOTH),
    (16.14, "n2", "stable", BOTH),
    (16.16, "n2", "primary", BOTH),
    (16.16, "n1", "primary", BOTH),
)


def test_a_crash_is_noticed_by_the_first_who_suspects_it():
    (found,) = incidents(scenario(kill(10.0)), lines(*A_CRASH), NAMES).values()
    assert (found.suspected_by, found.suspected) == (("n1",), ("n3",))
    figures = (found.link_closed_s, found.suspected_s, found.view_s, found.primary_s)
    assert [one.median for one in figures] == pytest.approx([0.02, 5.13, 6.14, 6.16])
    assert not found.absences


def test_who_returns_when_a_cut_ends_is_let_in_after_it():
    noted = lines(
        *A_CRASH,
        (41.9, "n3", "primary", ALL, "it reaches them again"),  # as it believes
        (43.0, "n1", "stable", ALL),
        (45.5, "n1", "primary", ALL),
    )  # fmt: skip
    cut = {"name": "cut", "at_s": 10.0, "until_s": 40.0, "node": "n3", "what": "cut"}
    found = incidents(scenario(cut), noted, NAMES)
    assert found["cut"].end_view_s.median == pytest.approx(3.0)
    assert found["cut"].end_primary_s.median == pytest.approx(5.5)


def test_who_comes_back_is_told_of_the_restart_not_of_the_crash():
    noted = lines(
        *A_CRASH,
        (21.5, "n1", "stable", ALL),
        (21.6, "n3", "primary", ALL),
        (21.6, "n1", "primary", ALL),
        (21.7, "n1", "donor", ("n3",), "IST"),
        (22.5, "n3", "joined"),
        (22.7, "n3", "synced"),
    )  # fmt: skip
    back = {"at_s": 20.0, "node": "n3", "what": "restart"}
    killed, restarted = incidents(scenario(kill(10.0), back), noted, NAMES).values()
    assert not killed.absences
    assert killed.primary_s.median == pytest.approx(6.16)
    assert restarted.suspected_s.known == []
    assert restarted.primary_s.median == pytest.approx(1.6)
    absence = restarted.absences["n3"]
    assert (absence.donor, absence.how) == (("n1",), ("IST",))
    assert (absence.joined_s.median, absence.synced_s.median) == pytest.approx((2.5, 2.7))


def test_who_is_cut_off_is_out_of_the_primary_component_until_it_is_back():
    cut = {"node": "n1", "at_s": 10.0, "until_s": 25.0, "what": "cut"}
    rest = ("n2", "n3")
    noted = lines(
        (15.1, "n1", "suspect", rest),
        (15.2, "n3", "suspect", ("n1",)),
        (16.1, "n1", "stable", ("n1",)),
        (16.1, "n1", "non-primary", ("n1",)),
        (16.2, "n2", "stable", rest),
        (16.3, "n2", "primary", rest),
        (27.0, "n1", "primary", ALL),
        (27.0, "n2", "primary", ALL),
        (27.1, "n2", "donor", ("n1",), "IST"),
        (28.4, "n1", "joined"),
        (28.5, "n1", "synced"),
    )
    (found,) = incidents(scenario(cut), noted, NAMES).values()
    assert found.suspected_by == ("n1",)
    assert found.primary_s.median == pytest.approx(6.3)
    ((name, absence),) = found.absences.items()
    assert name == "n1"
    assert (absence.non_primary_s.median, absence.primary_s.median) == pytest.approx((6.1, 17.0))
    assert absence.synced_s.median == pytest.approx(3.5)  # after the cut has ended


def test_a_slow_node_is_not_suspected_and_takes_no_line_of_another_fault():
    slow = {"at_s": 5.0, "node": "n1", "what": "slow", "cpu_factor": 3.0}
    found = incidents(scenario(kill(10.0), slow), lines(*A_CRASH), NAMES)
    assert [one.noticed for one in found.values()] == [False, True]


def test_two_crashes_are_told_apart_by_who_is_suspected():
    noted = lines(
        (15.1, "n1", "suspect", ("n3",)),
        (16.5, "n1", "suspect", ("n2",)),
        (17.5, "n1", "stable", ("n1",)),
        (17.5, "n1", "non-primary", ("n1",)),
    )
    first, second = incidents(scenario(kill(10.0), kill(11.5, "n2")), noted, NAMES).values()
    assert first.suspected_s.median == pytest.approx(5.1)
    assert second.suspected_s.median == pytest.approx(5.0)
    assert not first.absences
    assert second.absences["n1"].non_primary_s.median == pytest.approx(6.0)


def test_replications_give_a_median_and_a_range_and_words_once():
    runs = [
        incidents(scenario(kill(10.0)), lines((10.0 + after_s, by, "suspect", ("n3",))), NAMES)
        for after_s, by in ((5.1, "n1"), (5.5, "n2"), (5.2, "n1"))
    ]
    (found,) = (
        over_replications(each) for each in zip(*(one.values() for one in runs), strict=True)
    )
    assert found.suspected_by == ("n1", "n2")
    content = spread_dict(found)
    assert content["suspected_s"] == pytest.approx(5.2)
    assert content["ranges"]["suspected_s"] == pytest.approx([5.1, 5.5])
    assert "view_s" not in content["ranges"]  # it happened in none


def test_replications_have_the_terms_of_their_model():
    found = Faults(incidents(scenario(kill(10.0)), [], NAMES), terms={"stable": "configuration"})
    assert over_replications([found, found]).terms == {"stable": "configuration"}


# -- what clients saw ------------------------------------------------------------------------------


class Now:
    now = 0.0


def attempts(rows, *, end_s=30.0, groups=("n1", "n3")):
    """From (begin, end, group, error, writes) of every attempt."""
    clock = Now()
    log = AttemptLog(clock, groups, NAMES)
    for began_s, ended_s, group, error, writes in sorted(rows, key=lambda row: row[1]):
        clock.now = ended_s
        log.ended(began_s, group, group, writes=writes, error=error)
    clock.now = end_s
    return log.attempts()


def commits(group, from_s, to_s, *, every_s=0.1, writes=True):
    number = round((to_s - from_s) / every_s)
    starts = [from_s + turn * every_s for turn in range(number)]
    return [(at_s, at_s + 0.01, group, "", writes) for at_s in starts]


def killed_at_10():
    rows = [*commits(0, 0.0, 10.0), (9.99, 16.2, 0, "", True), *commits(0, 16.2, 30.0)]
    rows += [*commits(1, 0.0, 10.0), (9.99, 10.02, 1, "2013 lost connection", True)]
    rows += [(11.0, 12.0, 1, "2003 cannot connect", True), (20.0, 30.0, 1, WAITING, True)]
    return attempts(rows)


def test_phases_lie_between_faults_and_tell_what_each_group_saw():
    faults = incidents(scenario(kill(10.0)), [], NAMES)
    before, during = phases(faults.values(), killed_at_10(), 5.0, 30.0).values()
    assert (before.name, before.from_s, before.to_s) == ("before", 5.0, 10.0)
    assert (during.name, during.to_s) == ("n3 dies", 30.0)
    assert before.groups["n1"].throughput_tps.median == pytest.approx(10.0, abs=0.3)
    survivors = during.groups["n1"]
    assert survivors.longest_s.median == pytest.approx(6.21)
    assert survivors.errors == {}
    dead = during.groups["n3"]
    assert {error: one.times.median for error, one in dead.errors.items()} == {
        "2013": 1.0, "2003": 1.0, "waiting": 1.0
    }  # fmt: skip
    assert dead.errors["2013"].first_s.median == pytest.approx(0.02)
    assert dead.errors["waiting"].longest_wait_s.median == pytest.approx(10.0)


def test_a_stall_begins_before_the_fault_and_may_last_to_the_end_of_the_run():
    found = Faults(incidents(scenario(kill(10.0)), [], NAMES)).seen(killed_at_10(), 0.0, 30.0)
    survivors, dead = found["n3 dies"].stalls.values()
    assert survivors.stall_s.median == pytest.approx(6.2, abs=0.11)
    assert survivors.began_s.median == pytest.approx(0.0, abs=0.11)
    assert survivors.longest_wait_s.median == pytest.approx(6.21)
    assert dead.stall_s.median == pytest.approx(20.0, abs=0.11)
    assert found.phases["before"].groups["n1"].longest_s.median < 0.02  # until the phase ended


def test_reads_do_not_end_a_stall_of_those_who_write():
    rows = commits(0, 0.0, 10.0) + commits(0, 16.2, 30.0) + commits(0, 10.0, 16.2, writes=False)
    rows += commits(1, 0.0, 30.0, writes=False)
    found = Faults(incidents(scenario(kill(10.0)), [], NAMES)).seen(attempts(rows), 0.0, 30.0)
    mixed, readers = found["n3 dies"].stalls.values()
    assert mixed.stall_s.median == pytest.approx(6.3, abs=0.11)
    assert readers.stall_s.median == pytest.approx(0.1)  # of a group that only reads


def test_phases_of_a_fault_that_ends_are_before_during_and_after_it():
    pause = {"at_s": 10.0, "until_s": 12.0, "node": "n2", "what": "pause"}
    found = incidents(scenario(pause), [], NAMES)
    faults = Faults(found).seen(killed_at_10(), 0.0, 30.0)
    around = faults.around("fault.0")
    assert {part: (one.from_s, one.to_s) for part, one in around.items()} == {
        "before": (0.0, 10.0), "during": (10.0, 12.0), "after": (12.0, 30.0)
    }  # fmt: skip
    content = faults.to_dict()["fault.0"]
    assert content["stalls"]["n1"]["stall_s"] == pytest.approx(6.2, abs=0.11)
    assert content["after"]["groups"]["n1"]["longest_s"] == pytest.approx(6.21)
    text = str(faults)
    assert "n2 paused" in text
    assert "2013" in text


def test_a_donor_that_is_synced_again_was_not_without_the_state():
    cut = {"name": "cut", "at_s": 10.0, "until_s": 20.0, "nodes": ["n1", "n2"], "what": "cut"}
    noted = lines(
        *((1.0, node, "primary", ALL) for node in ALL),
        *((16.0, node, "non-primary", BOTH) for node in BOTH),
        *((21.0, node, "primary", ALL) for node in BOTH),
        (21.0, "n1", "donor", ("n2",), "IST"),
        (21.0, "n2", "joiner", ("n1",), "IST"),
        (21.1, "n1", "joined"),
        (21.1, "n1", "synced"),
        (21.5, "n2", "joined"),
        (21.6, "n2", "synced"),
    )
    (found,) = incidents(scenario(cut), noted, NAMES).values()
    assert not found.absences["n1"].synced_s.known
    assert found.absences["n1"].primary_s.median == pytest.approx(11.0)
    assert found.absences["n2"].synced_s.median == pytest.approx(1.6)


def test_a_node_that_is_cut_off_is_out_because_of_that_also_if_another_is_killed_meanwhile():
    cut = {"name": "cut", "at_s": 5.0, "until_s": 30.0, "node": "n1", "what": "cut"}
    noted = lines((11.2, "n1", "non-primary", ("n1",)), (31.0, "n1", "primary", BOTH))
    seen = incidents(scenario(cut, kill(8.0)), noted, NAMES)
    assert seen["cut"].absences["n1"].non_primary_s.median == pytest.approx(6.2)
    assert "n1" not in seen["n3 dies"].absences
