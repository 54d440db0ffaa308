"""What a notebook shows, and how a scenario is changed there."""

import sys
from importlib import import_module

import pytest

import simrep
from simrep.errors import ScenarioError, SimrepError
from simrep.runs.report import Report
from simrep.show.views import plot, tables
from tests.small_dataset import write_dataset
from tests.whatif_scenarios import TOML, wan

# -- scenarios -----------------------------------------------------------------------------------


def test_paths_and_tables_change_a_copy():
    before = simrep.load(TOML)
    by_path = before.replace({"network.rtt_ms": 5.0, 'cluster.options."evs.send_window"': 8})
    by_table = before.replace(network={"rtt_ms": 5.0}, cluster={"options": {"evs.send_window": 8}})
    assert by_path.to_dict() == by_table.to_dict()
    assert by_table.network.rtt_ms == 5.0
    assert by_table.cluster.options == {"evs.send_window": 8}
    assert by_table.cluster.nodes == before.cluster.nodes  # the rest of the table stays
    assert before.network.rtt_ms == 20.0


def test_a_list_takes_the_place_of_the_list():
    changed = wan(network={"egress": [{"node": "n2", "delay_ms": 5.0}]})
    again = changed.replace(network={"egress": [{"node": "n3", "delay_ms": 9.0}]})
    assert [one.node for one in again.network.egress] == ["n3"]
    assert again.replace(name="far").name == "far"


def test_a_wrong_table_names_the_nearest():
    with pytest.raises(ScenarioError, match="rtt_ms"):
        wan(network={"rtt": 5.0})
    with pytest.raises(ScenarioError, match="network"):
        wan(netwrk={"rtt_ms": 5.0})


def test_what_was_written_is_a_file_again():
    changed = wan(
        {"workload.queries": None, "network.egress": [{"node": "n2", "delay_ms": 5.0}]},
        cluster={"options": {"evs.send_window": 8}},
    )
    assert simrep.load(changed.to_toml()).to_dict() == changed.to_dict()
    assert "rtt_ms = 20.0" in wan()._repr_html_()
    assert "&lt;b&gt;" in wan(name="<b>")._repr_html_()


# -- results -------------------------------------------------------------------------------------


def shown(result):
    """What a notebook needs of a result."""
    assert isinstance(result, Report)
    assert result._repr_html_().startswith("<pre")
    assert callable(result.plot)
    return result.to_frame()


def test_a_run_shows_itself():
    result = simrep.run(wan(), replications=2)
    frame = shown(result).set_index("figure")
    assert frame.value["throughput_tps"] == result.throughput_tps
    assert (frame.low["latency_s.p95"], frame.high["latency_s.p95"]) == result.intervals[
        "latency_s.p95"
    ]
    assert str(result) in result._repr_html_() or "throughput" in result._repr_html_()


def test_markup_in_names_does_no_harm():
    result = simrep.run(wan(name="<script>alert(1)</script> [red]x[/red]"))
    assert "<script>" not in result._repr_html_()
    assert "[red]" in result._repr_html_()


def test_a_stall_shows_itself():
    found = simrep.explain_stall(wan(), longer_than_s=0.02)
    assert len(shown(found)) == len(found.blockages)


def test_datasets_and_validations_show_themselves(tmp_path):
    folder = write_dataset(tmp_path / "small")
    result = simrep.reproduce(folder, replications=2)
    frame = shown(result)
    assert len(frame) == len(result.cells) + len(result.what_if)
    assert {"threads", "measured", "predicted"} <= set(frame.columns)
    found = simrep.validate([folder], replications=2)
    assert len(shown(found)) == len(found.parts[0].result.cells)


def test_a_fit_shows_itself(tmp_path):
    folder = write_dataset(tmp_path / "small")
    found = simrep.fit(folder, replications=1, max_steps=1)
    assert list(found.to_frame().name) == ["statement_us"]
    assert "Costs of galera" in str(found)
    assert "statement_us" in found._repr_html_()
    with pytest.raises(SimrepError, match="FitResult has no figure"):
        found.plot()


# -- views ---------------------------------------------------------------------------------------


class Rows(Report):
    """A result of somebody else."""

    def _rows(self):
        return [{"row": 1}]


class MoreRows(Rows):
    """One that looks the same."""


def test_a_result_of_ones_own_registers_its_views():
    with pytest.raises(SimrepError, match="Rows has no tables"):
        Rows().tables()

    @tables.register(Rows)
    def _(result: Rows):
        return f"{len(result.to_frame())} row"

    assert str(Rows()) == str(MoreRows()) == "1 row"


def test_a_view_lies_in_a_module_that_is_loaded_when_it_is_shown(tmp_path, monkeypatch):
    class Drawn(Rows):
        pass

    (tmp_path / "drawn_kind.py").write_text("kind = None\n")
    (tmp_path / "drawn_view.py").write_text(
        "import drawn_kind\n"
        "from simrep.show.views import plot\n"
        "from simrep.show.plot.style import Sheet\n"
        "plot.register(drawn_kind.kind)(lambda result: Sheet(1.0, 2.0))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import_module("drawn_kind").kind = Drawn
    plot.register_module(Drawn, "drawn_view")
    assert "drawn_view" not in sys.modules
    assert Drawn().plot(tmp_path / "drawn.svg").get_figheight() == 2.0
    assert (tmp_path / "drawn.svg").read_text().startswith("<?xml")
