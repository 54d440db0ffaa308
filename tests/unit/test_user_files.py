"""Files of users that no reader behind the first one could take: errors, and no tracebacks."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from pydantic import AfterValidator, BaseModel
from typer.testing import CliRunner

from simrep.cli import app
from simrep.data.dataset import load_dataset
from simrep.errors import ScenarioError, SimrepError
from simrep.scenario import Scenario, load
from simrep.user_files import csv_rows, parse_toml, read_text
from tests.small_dataset import change, write_dataset
from tests.small_scenario import problem, small

SCENARIO = '[cluster]\nmodel = "galera"\n[workload]\nqueries = 10\n'
PACKED = SCENARIO.replace("[workload]", 'pack = "p.toml"\n[workload]')
PACK = '[pack]\nname = "p"\nmodel = "galera"\n'
MODULES = ("simrep", "validation")
ROOT = Path(__file__).parents[2]

TOML = {
    "5,000 lists": ("x = " + "[" * 5_000 + "]" * 5_000, "more than 20 deep"),
    "5,000 open lists": ("x = " + "[" * 5_000, "more than 20 deep"),
    "5,000 inline tables": ("x = " + "{a=" * 5_000, "more than 20 deep"),
    "a path of 5,000 names": ("[" + ".".join("a" * 5_000) + "]", "more than 20 deep"),
    "30 lists": ("x = " + "[" * 30 + "]" * 30, "more than 20 deep"),
    "5,000 digits": ("x = " + "9" * 5_000, "must be between"),
    "5,000 hexadecimal digits": ("x = 0x" + "f" * 5_000, "must be between"),
    "65 bits": ("x = 18446744073709551616", "must be between"),
    "an escape sequence": ('x = "\\u001b[2J"', r"holds the character \x1b"),
    "an escape sequence in a key": ('"\\u001b[2J" = 1', r"holds the character \x1b"),
    "text from right to left": ('x = "\\u202e"', r"holds the character \u202e"),
    "no TOML": ("x = ", "is not valid TOML"),
}
"""Texts of files, and what is said of them."""


@pytest.mark.parametrize(("text", "message"), TOML.values(), ids=TOML)
def test_scenario_pack_dataset_and_experiment_refuse_the_same(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    write_dataset(tmp_path / "data")
    (tmp_path / "s.toml").write_text(f"{text}\n{SCENARIO}")
    (tmp_path / "p.toml").write_text(f"{text}\n{PACK}")
    content = (tmp_path / "data" / "dataset.toml").read_text()
    (tmp_path / "data" / "dataset.toml").write_text(f"{text}\n{content}")
    (tmp_path / "packed.toml").write_text(PACKED)
    for words in (
        ("run", "s.toml"),
        ("run", "packed.toml"),
        ("reproduce", "data"),
        ("rig", "measure", "s.toml", "--dry-run"),
    ):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2, (words, done.output)
        assert message in done.stderr, words
        assert len(done.stderr) < 2_000


@pytest.mark.parametrize("value", ["[" * 5_000, "9" * 5_000, "0x" + "f" * 5_000, "x" * 200_000])
def test_a_value_of_the_command_line_is_an_error_of_some_lines(tmp_path, value):
    (tmp_path / "s.toml").write_text(SCENARIO)
    for path in ("network.rtt_ms", "cluster.model", "workload.class", "network." + value):
        done = CliRunner().invoke(
            app, ["run", str(tmp_path / "s.toml"), "--set", f"{path}={value}"]
        )
        assert done.exit_code == 2
        assert done.stderr.startswith("Error: ")
        assert len(done.stderr) < 3_000


@pytest.mark.parametrize("digits", ["9" * 5_000, "²"])
def test_no_position_in_a_list_has_5_000_digits(digits):
    with pytest.raises(ScenarioError, match="position in a list"):
        load(small(network={"path": [{"rtt_ms": 1}]})).replace({f"network.path.{digits}.rtt_ms": 2})


@pytest.mark.parametrize("name", [[], {}, 5, ""])
def test_a_class_of_a_preset_is_named_by_a_string(name):
    workload = {"preset": "mysqlslap-insert", "class": [{"name": name}]}
    assert "workload.class" in str(problem(small(workload=workload)))


@pytest.mark.parametrize("text", ["²", "٣", "9" * 5_000, "1e400", "-", ""])
@pytest.mark.parametrize("name", ["thread_pool_size", "wsrep_slave_threads", "gcs.fc_limit"])
def test_odd_numbers_of_a_server_are_an_error_or_not_simulated(tmp_path, text, name):
    options = {"wsrep_on": "ON", "version": "10.11.6-MariaDB", name: text}
    rows = "".join(f"{key}\t{value}\n" for key, value in options.items())
    (tmp_path / "variables.txt").write_text(rows)
    done = CliRunner().invoke(
        app,
        [
            "from-server",
            "--variables",
            str(tmp_path / "variables.txt"),
            "--out",
            str(tmp_path / "o"),
        ],
    )
    assert done.exit_code in {0, 2}, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)


def deep(levels: int) -> dict:
    content: dict = {}
    for _ in range(levels):
        content = {"a": content}
    return content


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({1: 2}, "keys must be strings, given 1"),
        ({"a": [{None: 2}]}, "keys must be strings, given None"),
        (deep(5_000), "more than 20 deep"),
        ({"a": [1] * 10_001}, "has 10,001 entries"),
        ({str(number): 1 for number in range(10_001)}, "has 10,001 entries"),
        ({"gcs.fc_limit": 10**5_000}, "must be between"),
        ({"gcs.fc_limit": "\x1b"}, r"holds the character \x1b"),
        ({"gcs.fc_limit": "\ud800"}, r"holds the character \ud800"),
    ],
)
def test_a_mapping_may_hold_what_a_file_may_hold(options, message):
    content = small()
    content["cluster"]["options"] = options
    assert message in str(problem(content))
    with pytest.raises(ScenarioError) as caught:
        load(small()).replace({"cluster.options": options})
    assert message in str(caught.value)
    with pytest.raises(ScenarioError) as caught:
        load(small()).replace(cluster={"options": options})
    assert message in str(caught.value)


@pytest.mark.parametrize("place", ["s.toml", "p.toml", "data/dataset.toml", "data/data.csv"])
def test_a_byte_order_mark_is_no_mistake_and_no_text_either(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    write_dataset(tmp_path / "data")
    (tmp_path / "s.toml").write_text(PACKED)
    (tmp_path / "p.toml").write_text(PACK)
    path = tmp_path / place
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert CliRunner().invoke(app, ["run", "s.toml"]).exit_code == 0
    assert len(load_dataset("data").cells["galera"]) == 4


@pytest.mark.parametrize("place", ["s.toml", "p.toml", "data/dataset.toml", "data/data.csv"])
def test_what_is_no_utf_8_is_told_with_its_file(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    write_dataset(tmp_path / "data")
    (tmp_path / "s.toml").write_text(PACKED)
    (tmp_path / "p.toml").write_text(PACK)
    path = tmp_path / place
    path.write_bytes(path.read_bytes() + b"# caf\xe9\n")
    words = ("reproduce", "data") if "data" in place else ("run", "s.toml")
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert f"{place.rpartition('/')[2]}" in done.stderr
    assert "is not UTF-8 text" in done.stderr


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", ".", "/dev/zero/none"])
def test_a_name_that_no_file_has_is_told(name):
    for words in (("run", name), ("reproduce", name), ("rig", "measure", name, "--dry-run")):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("galera,20,4,0.3", "gal\x1bera,20,4,0.3", r"data/data.csv, line 2: holds the character"),
        ("galera,20,4,0.3", 'gal"era,20,4,' + "3" * 200_000, "is no CSV table: field larger"),
        ("galera,20,4,0.3", "galera,20,4," + "3" * 5_000, "seconds must be a positive number"),
        ("galera,20,4,0.3", "galera,20,4," + "3" * 400, "seconds must be a positive number"),
        ("galera,20,4,0.3", "galera,20,4," + "x" * 100_000, "seconds must be a positive number"),
    ],
)
def test_a_table_with_what_no_table_holds_is_refused(tmp_path, old, new, message):
    folder = write_dataset(tmp_path / "data")
    change(folder, "data.csv", old, new)
    with pytest.raises(ScenarioError) as caught:
        load_dataset(folder)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 1_000


def test_a_file_without_an_end_is_refused(monkeypatch):
    monkeypatch.setattr("simrep.user_files._MOST_BYTES", 1_000)
    with pytest.raises(ScenarioError, match="is larger than"):
        read_text("/dev/zero", "zero")


def test_long_values_are_shortened_in_the_message_and_nowhere_else():
    name = "x" * 200_000
    error = problem(small(cluster={"model": name}))
    assert name in error.problem
    assert len(str(error)) < 3_000
    assert "more) ..." in str(error)
    assert str(error).startswith("cluster.model: must have at most 200 characters, given 'xxx")
    assert len(str(SimrepError(name))) < 3_000
    many = problem(small(network={f"key {number}": 1 for number in range(1_000)}))
    assert "1000 problems" in str(many)
    assert str(many).endswith("and 970 more")


def test_a_message_commands_no_terminal():
    error = ScenarioError("run\x1b[2J", "given \u202e\x07", "\x9b")
    assert str(error) == r"run\x1b[2J: given \u202e\x07 (\x9b)"


@pytest.mark.parametrize("bad", ["\x1b[31m", "\x00", "a\nb", "a\tb", "\u202e", "\u2028", "\ud800"])
def test_a_name_is_one_line_of_characters_that_can_be_shown(bad):
    for content in (
        small(name=bad),
        small(cluster={"nodes": ["a", bad]}),
        small(workload={"class": [{"name": bad}]}),
        small(workload={"scheduled": [{"name": bad}]}),
        small(node=[{"name": "n1", "host": bad}]),
        small(node=[{"name": "n1", "site": bad}]),
        small(host=[{"name": bad}]),
    ):
        told = str(problem(content))
        assert "without \\" in told or "which cannot be shown" in told
        assert bad not in told.replace("\n", "", told.count("\n  "))


def texts(annotation: Any, *, checked: bool = False) -> Iterator[bool]:
    """Of every text in a type: whether it is one line of characters that can be shown."""
    if annotation is str:
        yield checked
    elif get_origin(annotation) is Annotated:
        inner, *how = get_args(annotation)
        yield from texts(inner, checked=checked or any(isinstance(h, AfterValidator) for h in how))
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            known = any(isinstance(one, AfterValidator) for one in field.metadata)
            if name not in {"description", "pack", "file"}:
                for found in texts(field.annotation, checked=known):
                    assert found, (annotation, name)
    elif get_origin(annotation) not in {Literal, dict}:
        for inner in get_args(annotation):
            yield from texts(inner, checked=checked)


def test_every_name_of_a_scenario_is_such_a_line():
    assert list(texts(Scenario)) == []


def test_a_name_is_at_most_200_characters_long():
    load(small(cluster={"nodes": ["x" * 200, "y"]}))
    assert "at most 200 characters" in str(problem(small(cluster={"nodes": ["x" * 201, "y"]})))


def test_a_cluster_has_at_most_64_nodes_however_they_are_given():
    tables = [{"name": f"n{number}"} for number in range(65)]
    for content in (
        small(node=tables),
        small(cluster={"nodes": 65}),
        small(cluster={"nodes": [table["name"] for table in tables]}),
    ):
        assert "a cluster has 1 to 64 nodes, given 65" in str(problem(content))
    load(small(node=tables[:64]))


def test_a_description_may_have_lines_and_names_may_be_of_any_language():
    names = ["größe", "日本", "x y", "नी", "👩‍💻", "<b>&\"'$_^\\"]
    content = small(name="é", description="one\ntwo\tthree", cluster={"nodes": names})
    assert load(content).node_names == tuple(names)
    assert load(load(content).to_toml()) == load(content)


def test_one_file_reads_what_users_write():
    for module in MODULES:
        for path in (ROOT / module).rglob("*.py"):
            if path.name in {"user_files.py", "deprecated.py"}:
                continue
            assert "import tomllib" not in path.read_text(), path


def test_the_readers_take_what_they_should():
    assert parse_toml("\ufeffx = 1\n", "") == {"x": 1}
    assert parse_toml("x = -9223372036854775808", "") == {"x": -(2**63)}
    assert csv_rows('a,b\r\n"1,\n",2\r\n\r\n', "") == [["a", "b"], ["1,\n", "2"]]


def test_a_copied_result_of_a_cache_is_no_answer(tmp_path):
    from simrep import sweep

    over = {"workload.threads": [1, 2]}
    first = sweep(small(), over, cache=tmp_path)
    one, other = sorted(tmp_path.rglob("*.json"))
    shutil.copy(one, other)
    again = sweep(small(), over, cache=tmp_path)
    assert again.computed == 1
    assert [point.to_dict() for point in again.points] == [p.to_dict() for p in first.points]
    other.write_text("[" * 100_000)
    assert sweep(small(), over, cache=tmp_path).computed == 1
