"""What a run says of each fault: from lines of a time line, and from what clients saw."""

import pytest

import simrep
from simrep.kernel.timeline import Noted
from simrep.measure.spread import over_replications, spread_dict
from simrep.runs.incidents import incidents

NAMES = ("n1", "n2", "n3")
KILLED = {"cluster.change": [{"at_s": 10.0, "node": "n3", "what": "crash"}]}


def scenario(*changes, faults=(), outages=(), duration_s=60.0):
    return simrep.load({
        "cluster": {"model": "galera", "nodes": list(NAMES), "change": list(changes)},
        "network": {"outage": list(outages)},
        "fault": list(faults),
        "run": {"duration_s": duration_s},
    })  # fmt: skip


def crash(at_s, node="n3"):
    return {"at_s": at_s, "node": node, "what": "crash"}


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
    (found,) = incidents(scenario(crash(10.0)), lines(*A_CRASH), NAMES).values()
    assert (found.suspected_by, found.suspected) == (("n1",), ("n3",))
    figures = (found.link_closed_s, found.suspected_s, found.view_s, found.primary_s)
    assert [one.median for one in figures] == pytest.approx([0.02, 5.13, 6.14, 6.16])
    assert not found.absences


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
    back = {"at_s": 20.0, "node": "n3", "what": "join"}
    killed, restarted = incidents(scenario(crash(10.0), back), noted, NAMES).values()
    assert not killed.absences
    assert killed.primary_s.median == pytest.approx(6.16)
    assert restarted.suspected_s.known == []
    assert restarted.primary_s.median == pytest.approx(1.6)
    absence = restarted.absences["n3"]
    assert (absence.donor, absence.how) == (("n1",), ("IST",))
    assert (absence.joined_s.median, absence.synced_s.median) == pytest.approx((2.5, 2.7))


def test_who_is_cut_off_is_out_of_the_primary_component_until_it_is_back():
    cut = {"node": "n1", "from_s": 10.0, "to_s": 25.0}
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
    (found,) = incidents(scenario(outages=[cut]), noted, NAMES).values()
    assert found.suspected_by == ("n1",)
    assert found.primary_s.median == pytest.approx(6.3)
    ((name, absence),) = found.absences.items()
    assert name == "n1"
    assert (absence.non_primary_s.median, absence.primary_s.median) == pytest.approx((6.1, 17.0))
    assert absence.synced_s.median == pytest.approx(3.5)  # after the cut has ended


def test_a_slow_node_is_not_suspected_and_takes_no_line_of_another_fault():
    slow = {"at_s": 5.0, "node": "n1", "what": "slow", "cpu_factor": 3.0}
    found = incidents(scenario(crash(10.0), faults=[slow]), lines(*A_CRASH), NAMES)
    assert [one.noticed for one in found.values()] == [False, True]


def test_two_crashes_are_told_apart_by_who_is_suspected():
    noted = lines(
        (15.1, "n1", "suspect", ("n3",)),
        (16.5, "n1", "suspect", ("n2",)),
        (17.5, "n1", "stable", ("n1",)),
        (17.5, "n1", "non-primary", ("n1",)),
    )
    first, second = incidents(scenario(crash(10.0), crash(11.5, "n2")), noted, NAMES).values()
    assert first.suspected_s.median == pytest.approx(5.1)
    assert second.suspected_s.median == pytest.approx(5.0)
    assert not first.absences
    assert second.absences["n1"].non_primary_s.median == pytest.approx(6.0)


def test_replications_give_a_median_and_a_range_and_words_once():
    runs = [
        incidents(scenario(crash(10.0)), lines((10.0 + after_s, by, "suspect", ("n3",))), NAMES)
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
