"""Sliders over a scenario: their levels, what moving one shows, and what is shown without."""

import asyncio
import sys
from base64 import b64decode

import pytest

import simrep
from simrep.exploration import explore as exploration
from tests.legible import problems
from tests.small_scenario import small

PNG = b"\x89PNG"
RTT, THREADS = "network.rtt_ms", "workload.threads"


def wan(**tables):
    changed = {"network": {"rtt_ms": 20}, "workload": {"queries": 60, "threads": 4}, **tables}
    return simrep.load(small(**changed))


def test_the_first_setting_is_the_scenario_itself():
    found = simrep.explore(wan())
    assert found.first.digest() == simrep.run(wan()).digest()
    assert found.settings[RTT] == 20
    assert found.settings[THREADS] == 4
    assert "That is the first setting." in found.sentence


def test_a_setting_is_the_run_with_these_values_and_is_told_beside_the_first():
    found = simrep.explore(wan(), seed=3)
    found.set({RTT: 80, THREADS: 8})
    expected = simrep.run(wan().replace({RTT: 80, THREADS: 8}), seed=3)
    assert found.now.digest() == expected.digest()
    assert found.first.digest() == simrep.run(wan(), seed=3).digest()
    now, _, first = found.sentence.partition("; the first setting: ")
    assert now != first
    assert all("p95" in said and "transactions/s" in said for said in (now, first))
    found.set({RTT: 20, THREADS: 4})
    assert found.now is found.first


def test_ranges_levels_and_labels_become_sliders_with_the_first_value_among_them():
    sliders = {
        RTT: (1, 200),
        THREADS: "1..16:x2",
        "cluster.options.gcs.fc_limit": [32, 64],
        "cluster.options.wsrep_applier_threads": (2, 6),
        "window": {
            "small": {"cluster.options.evs.send_window": 4},
            "large": {"cluster.options.evs.send_window": 512},
        },
        "workload.think_time_ms": [5, 10],
    }
    found = simrep.explore(wan(), sliders=sliders)
    rtts, threads, limits, appliers, windows, pauses = found.levels.values()
    assert rtts[0] == 1
    assert rtts[-1] == 200
    assert rtts == sorted(rtts)
    assert 10 < len(rtts) < 25
    assert threads == [1, 2, 4, 8, 16]
    assert limits == [16, 32, 64]
    assert appliers == [1, 2, 3, 4, 5, 6]
    assert windows == ["small", "large"]
    assert pauses == [0, 5, 10]
    assert list(found.settings.values()) == [20, 4, 16, 1, "small", 0]


@pytest.mark.parametrize("model", simrep.model_cards())
def test_every_model_has_sliders_that_all_move(model):
    scenario = {"cluster": {"model": model}, "workload": {"queries": 40, "threads": 4}}
    found = simrep.explore(scenario)
    assert len(found.levels) >= 3
    for name, levels in found.levels.items():
        assert len(levels) > 1
        assert found.settings[name] in levels
        found.set({name: levels[-1]})
    assert found.now.committed > 0


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({"network": {"egress": [{"node": "n3", "delay_ms": 50}]}}, "network.egress.0.delay_ms"),
        (
            {
                "network": {
                    "path": [
                        {"from": "*", "to": "n2", "rtt_ms": 5},
                        {"from": "*", "to": "n3", "rtt_ms": 90},
                    ]
                }
            },
            "network.path.1.rtt_ms",
        ),
        ({"workload": {"rate_tps": 40}, "run": {"duration_s": 1}}, "workload.rate_tps"),
    ],
)
def test_the_sliders_follow_what_the_scenario_says(tables, expected):
    content = {"cluster": {"model": "galera"}, "workload": {"queries": 40}, **tables}
    assert expected in simrep.explore(content).levels


@pytest.mark.parametrize(
    ("sliders", "message"),
    [
        ({"network.rtt": (1, 2)}, "did you mean 'rtt_ms'"),
        ({"cluster.options.evs.sendwindow": [4, 8]}, "did you mean 'evs.send_window'"),
        ({RTT: 5}, "is no range and no levels"),
        ({RTT: (5, 1)}, "is no range"),
        ({RTT: [-4, 4]}, "must be at least 0"),
        ({}, "there is nothing to move"),
    ],
)
def test_a_slider_that_leads_nowhere_is_an_error_that_helps(sliders, message):
    with pytest.raises(simrep.ScenarioError, match=message):
        simrep.explore(wan(), sliders=sliders)


def test_only_sliders_and_levels_that_are_there_can_be_set():
    found = simrep.explore(wan(), sliders={RTT: [20, 40]})
    with pytest.raises(simrep.ScenarioError, match=r"did you mean 'network\.rtt_ms'"):
        found.set({"network.rtt": 40})
    with pytest.raises(simrep.ScenarioError, match=r"no level 30 \(valid: 20, 40\)"):
        found.set({RTT: 30})


def parts(found):
    """Sliders, words and picture of the widget."""
    *sliders, words, image = found.widget().children
    return sliders, words, image


def shown(words, image):
    picture = bytes(image.value)
    assert picture.startswith(PNG)
    return words.value, picture


def test_moving_a_slider_of_the_widget_changes_words_and_picture():
    found = simrep.explore(wan(), sliders={RTT: [20, 80], THREADS: [4, 8]})
    sliders, words, image = parts(found)
    before = shown(words, image)
    sliders[0].value = 1
    assert found.settings[RTT] == 80
    assert found.sentence in words.value
    after = shown(words, image)
    assert after[0] != before[0]
    assert after[1] != before[1]
    sliders[0].value = 0
    assert shown(words, image) == before
    found.set({THREADS: 8})
    assert sliders[1].value == 1


def test_the_picture_says_its_setting_and_is_grey_while_another_is_due():
    found = simrep.explore(wan(), sliders={RTT: [20, 80], THREADS: [4, 8]})
    assert found.plot().get_suptitle().endswith("the first setting")
    (rtt, _), words, image = parts(found)
    told = []
    image.observe(lambda _: told.append("simrep-due" in image._dom_classes), names="_dom_classes")

    async def drag():
        rtt.value = 1
        told.append("simrep-due" in image._dom_classes)
        await asyncio.sleep(0.5)

    asyncio.run(drag())
    assert told == [True, True, False]
    assert ".simrep-due" in words.value
    assert found.plot().get_suptitle().endswith("round trip (ms) 80 (first 20)")


def test_a_slider_that_moves_fast_is_followed_once(monkeypatch):
    runs = []

    def counted(*args, **kwargs):
        runs.append(args)
        return simrep.run(*args, **kwargs)

    monkeypatch.setattr(exploration, "run", counted)
    found = simrep.explore(wan(), sliders={RTT: [20, 30, 40, 50, 60]})
    (slider,), _, _ = parts(found)
    runs.clear()

    async def drag():
        for position in (1, 2, 3, 4):
            slider.value = position
        await asyncio.sleep(0.5)

    asyncio.run(drag())
    assert len(runs) == 1
    assert found.settings == {RTT: 60}


def test_what_cannot_be_run_is_said_and_the_sliders_go_on():
    found = simrep.explore(wan(), sliders={THREADS: [4, 60], "workload.queries": [20, 60]})
    (threads, queries), words, image = parts(found)
    threads.value = 1
    queries.value = 0
    assert "must be at least one for each of 60 threads" in words.value
    assert "The picture still shows threads 60 (first 4)" in words.value
    assert "simrep-due" in image._dom_classes
    threads.value = 0
    assert "p95" in words.value
    assert "simrep-due" not in image._dom_classes


def test_a_notebook_gets_the_sliders_and_a_picture_for_who_cannot_show_them():
    bundle = simrep.explore(wan(), sliders={RTT: (1, 200)})._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert b64decode(bundle["image/png"]).startswith(PNG)


def test_without_ipywidgets_the_picture_is_all(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    found = simrep.explore(wan(), sliders={RTT: (1, 200)})
    bundle = found._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/png"}
    assert b64decode(bundle["image/png"]).startswith(PNG)
    figure = found.overview(tmp_path / "overview.png")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[3:] == ["1", "5", "20 (now)", "50", "200"]
    assert figure.subfigs[1].get_suptitle() == "Latency by round trip (ms)"
    assert len({axes.get_xlim() for axes in figure.axes[3:]}) == 1
    assert not problems(figure)
    assert (tmp_path / "overview.png").read_bytes().startswith(PNG)
