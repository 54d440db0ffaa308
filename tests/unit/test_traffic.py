"""What replication sends in a month, and what it costs."""

import csv
import json

import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.errors import ScenarioError
from simrep.whatif.plan.prices import prices
from tests.server_runs import scenario


def asked(content, **options):
    return simrep.plan(content, "traffic", **{"replications": 2, "jobs": 1, **options})


def sited(*sites, **workload):
    """A source and its replicas in regions, whose logs cost nothing."""
    content = scenario("asynchronous", len(sites), network={"rtt_ms": 1.0}, duration_s=1.0)
    content["node"] = [
        {"name": f"n{number}", "site": site} for number, site in enumerate(sites, start=1) if site
    ]
    content["workload"] = {"threads": 2, "think_time_ms": 5.0, **workload}
    return content


def of(found, source, target):
    return next(link for link in found.links if (link.source, link.target) == (source, target))


def test_prices_by_region():
    found = asked(sited("us-east-1", "us-east-2", "eu-west-1"))
    near, far = of(found, "n1", "n2"), of(found, "n1", "n3")
    assert near.prices["aws"].usd_per_gb == 0.01
    assert far.prices["aws"].usd_per_gb == 0.02
    assert far.usd("aws") == pytest.approx(0.02 * far.gb_per_month.mean)
    assert found.usd("aws") == pytest.approx(sum(link.usd("aws") for link in found.links))
    assert found.providers == ("aws",)
    assert "List price at aws" in found.sentence
    assert any("2022-11-01" in note for note in found.notes)


def test_a_month_has_730_hours_of_the_load():
    found = asked(sited("us-east-1", "eu-west-1"))
    link = of(found, "n1", "n2")
    per_second = link.bytes_per_commit * found.throughput_tps
    assert link.bytes_per_s.mean == pytest.approx(per_second, rel=0.02)
    assert link.gb_per_month.mean == pytest.approx(link.bytes_per_s.mean * 730 * 3600 / 1e9)
    assert found.value == pytest.approx(sum(one.gb_per_month.mean for one in found.links))


def test_zones_of_one_region():
    found = asked(sited("eu-west-1", "eu-west-1"))
    assert of(found, "n1", "n2").prices["aws"].usd_per_gb == 0.02  # both ends pay half of it
    assert any("different zones" in note for note in found.notes)


def test_sites_of_a_preset_are_regions_of_its_provider():
    content = sited("virginia", "tokyo")
    content["network"] = {"preset": "aws-2017"}
    link = of(asked(content), "n2", "n1")
    assert (link.source_region, link.target_region) == ("ap-northeast-1", "us-east-1")
    assert link.prices["aws"].usd_per_gb == 0.09


@pytest.mark.parametrize("sites", [("us-east-1", "cellar"), ("us-east-1", None), (None, None)])
def test_what_is_not_in_the_table_is_not_priced(sites):
    found = asked(sited(*sites))
    assert found.providers == ()
    assert all(link.usd("aws") is None for link in found.links)
    assert found.sentence.endswith("Nothing of it is priced.")
    [note] = [note for note in found.notes if note.startswith("Not priced")]
    assert ("--prices" if all(sites) else "[[node]]") in note
    if all(sites):
        assert "us-east-1 to cellar" in note


def test_some_links_are_priced():
    found = asked(sited("us-east-1", "eu-west-1", "cellar"))
    assert found.usd("aws") is None
    assert "for 2 of 6 links; 4 are not priced" in found.sentence


def test_prices_of_ones_own(tmp_path):
    table = tmp_path / "mine.csv"
    table.write_text("provider,from,to,usd_per_gb\nus,attic,cellar,1.5\nus,cellar,attic,0\n")
    found = asked(sited("attic", "cellar"), prices=table)
    there, back = of(found, "n1", "n2"), of(found, "n2", "n1")
    assert there.usd("us") == pytest.approx(1.5 * there.gb_per_month.mean)
    assert back.usd("us") == 0.0
    assert found.usd("us") == there.usd("us")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no column 'provider'"),
        ("provider,from,to\na,b,c\n", "has no column 'usd_per_gb'"),
        ("provider,from,to,usd_per_gb\na,b,c,cheap\n", "needs provider"),
        ("provider,from,to,usd_per_gb\na,b,c,-1\n", "a price is a number from 0 on"),
        ("provider,from,to,usd_per_gb\na,,c,1\n", "line 2"),
    ],
)
def test_wrong_tables(tmp_path, text, said):
    table = tmp_path / "mine.csv"
    table.write_text(text)
    with pytest.raises(ScenarioError, match=said):
        asked(sited("attic", "cellar"), prices=table)


def test_the_narrower_row_of_a_table_counts(tmp_path):
    table = tmp_path / "mine.csv"
    table.write_text("provider,from,to,usd_per_gb\na,*,*,3\na,x,*,2\na,x,y z,1\na,*,zone,0.5\n")
    known = prices(table)
    assert known.price("a", "x", "y").usd_per_gb == 1
    assert known.price("a", "y", "x").usd_per_gb == 3
    assert known.price("a", "x", "elsewhere") is None  # it names regions, and that is none of them
    assert known.price("a", "y", "y").usd_per_gb == 0.5
    assert known.price("b", "x", "y") is None


def test_every_price_that_ships_names_its_source_and_day():
    table = prices()
    assert set(table.providers) == {"aws", "google", "azure"}
    for row in table.rows:
        assert row.source.startswith("https://")
        assert row.valid.count("-") == 2
        assert 0.0 <= row.usd_per_gb < 0.2
    assert table.price("azure", "eastus", "westus").usd_per_gb == 0.02
    assert table.price("azure", "eastus", "westeurope").usd_per_gb == 0.05
    assert table.price("google", "us-central1", "us-central1").usd_per_gb == 0.01
    assert table.price("google", "us-central1", "europe-west1") is None


@pytest.mark.parametrize(
    ("content", "path"),
    [
        (scenario("standalone", 1, duration_s=1.0), "cluster"),
        (scenario("asynchronous", 1, duration_s=1.0), "cluster"),
        ({**sited(None, None), "fault": [{"node": "n2", "what": "kill", "at_s": 0.5}]}, "fault"),
    ],
)
def test_wrong_questions(content, path):
    with pytest.raises(ScenarioError) as error:
        asked(content)
    assert error.value.path == path


def test_it_shows_and_saves_itself(tmp_path):
    found = asked(sited("us-east-1", "eu-west-1"))
    found.plot(tmp_path / "traffic.svg")
    assert "us-east-1 to eu-west-1" in (tmp_path / "traffic.svg").read_text()
    found.save(tmp_path / "traffic.csv")
    with (tmp_path / "traffic.csv").open() as file:
        first = next(csv.DictReader(file))
    assert (first["from"], first["aws_usd_per_gb"]) == ("n1", "0.02")
    assert first["aws_source"].startswith("https://")
    assert json.loads(json.dumps(found.to_dict()))["usd_per_month"]["aws"] > 0.0


def test_from_a_shell(tmp_path):
    path, table = tmp_path / "cluster.toml", tmp_path / "mine.csv"
    path.write_text(
        "[cluster]\nmodel = 'galera'\nnodes = 2\n[[node]]\nname = 'n1'\nsite = 'a'\n"
        "[[node]]\nname = 'n2'\nsite = 'b'\n[workload]\nthreads = 2\n[run]\nduration_s = 1\n"
    )
    table.write_text("provider,from,to,usd_per_gb\nmine,*,*,0.5\n")
    done = CliRunner().invoke(
        app, ["plan", str(path), "traffic", "--prices", str(table), "--replications", "2",
              "--jobs", "1"]
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "mine: USD a month" in done.stdout
    done = CliRunner().invoke(app, ["plan", str(path), "traffic", "--replications", "2"])
    assert "not priced" in done.stdout
