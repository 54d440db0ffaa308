"""Write the reference pages that follow from the code: scenarios, models, experiments, datasets.

``python docs/generate_reference.py`` rewrites them; a test fails while they are out of date.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from simrep import json_schema
from simrep.contract.card import model_card
from simrep.contract.model import Model
from simrep.contract.registry import find_model, model_names
from simrep.data import definition as cells
from simrep.data.causes import Cause
from simrep.network.regions import PRESETS as REGIONS
from simrep.rig.experiment import Experiment
from simrep.scenario.pack import load_pack
from simrep.scenario.presets import Preset, preset
from simrep.scenario.proxy import proxies

__all__ = ["pages"]

REFERENCE = Path(__file__).parent / "reference"
NOTICE = "<!-- Written by docs/generate_reference.py; change the code that it reads instead. -->"
UNITS = {
    "_ms": "ms", "_us": "µs", "_ns": "ns", "_s": "s", "_bytes": "bytes", "_mbit": "Mbit/s",
    "_tps": "transactions/s", "_segments": "segments",
}  # fmt: skip
BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
MACHINE = "Machine traits, as in [`[cluster.machine]`](#cluster-machine), may stand here too."

SCENARIO = """# Scenario files

A scenario is a TOML file. Unknown keys, wrong types and values out of range are errors that name
the path, what was given and the nearest valid name; all errors of a file are reported together.
Units are part of the names. Editors complete and check scenario files with the output of
`simrep schema`. How to write one: [Describe your cluster](../howto/describe-your-cluster.md).

`simrep run --set PATH=VALUE` and `simrep.with_value` address a key by its dotted path; tables in
double brackets are lists, counted from 0: `network.egress.0.delay_ms`. An entry that has a `name`
is found by it too: `fault.NAME.at_s`, `workload.class.NAME.rows`.

Every number has bounds, and the error of a number beyond them tells why they are there. A
replication takes at most 10^9 events, about an hour of a processor. A load that is sure to take
more is refused before the run. A run whose first second shows it is stopped there, and so is one
in which time stands still because nothing takes any.
"""

PROXIES = """`proxy.like` decides what `[proxy]` does not say. Sources and simplifications stand in
`simrep/scenario/proxies.toml`. Values in brackets are those with a model, the first is that
with all others."""

MODELS = """# Models

`simrep models` lists what is installed, `simrep models NAME` prints one of the sections below.
Options bear the product's own names and go into `[cluster.options]`; a `version` of
`[cluster]` replaces defaults, and options of the scenario replace both. Costs come from the
defaults below, then from the [pack](glossary.md#pack), then from `[cluster.costs]`. What is usual
holds on about 95 of 100 machines (`simrep/scenario/prior.py`, with sources): a fit takes its priors
from it.

Conservative assumptions make the answer worse than the product, optimistic ones better.
"""

EXPERIMENTS = """# Experiment files

What `simrep rig measure` runs: a TOML file that names systems, layouts of delays and loads, and
grids that cross them. `simrep rig list` names those that ship; how to write one:
[Measure your own cluster](../howto/measure-your-cluster.md). Mistakes are told as those of a
[scenario](scenario.md) are.
"""

DATASETS = """# Dataset files

A dataset is a folder with `dataset.toml`, a CSV file with a row per measurement, and a scenario
for each measured system. What ships lies in `validation/published/` and `validation/measured/`;
`simrep rig measure` writes the same. How to write one:
[Fit your machine](../howto/fit-your-machine.md); what to do with it:
[Check predictions](../howto/check-predictions.md). Mistakes are told as those of a
[scenario](scenario.md) are.

Rows with equal factors are repetitions of one cell; their median counts. Rows whose column `passed`
is 0 are left out. A column that nothing uses, and `ignore` does not name, is told. An empty cell of
a factor is an error unless the factor is `optional`: then it leaves the scenario as it is. An empty
cell of a metric is told unless the metric is `optional`.

Some publications state no cells but a ratio or a difference between several, with a range: a
*derived metric*. Its rows have its name in the column `quantity`, the range in `low` and `high`,
and `ratio` or `ms` in `unit`. A factor of such a row may be `a-b`, for every value from a to b, or
`a+b`, for the mean of both. The cells are simulated, measured or not. `simrep reproduce` shows
how far these figures are from what was stated; `simrep validate` leaves datasets out that state
nothing else.

In datasets of *failures* a node is hit and comes back. Each row is a figure of a run, with the
columns `run`, `metric`, `value` and `unit`; `simrep/data/failure_metrics.py` defines the figures.
They are compared with many simulated runs, because chance decides when a fault meets the timers of
servers. The medians have to agree: of what timers decide within the larger of 5 % and 0.15 s, of
what processors decide within 25 %. `simrep reproduce` simulates them; `simrep validate` leaves them
out.

Why predictions are off, as far as it is known, may stand in `causes.toml` beside the data: a
`[[cause]]` for the figures of some cells. The [scoreboard](../validation/index.md) names it beside
each of them.
"""


def pages() -> dict[Path, str]:
    """Content of every generated page, by its file."""
    return {
        REFERENCE / "scenario.md": "\n".join([NOTICE, "", *_scenario()]) + "\n",
        REFERENCE / "models.md": "\n".join([NOTICE, "", *_models()]) + "\n",
        REFERENCE / "experiments.md": "\n".join([NOTICE, "", *_experiments()]) + "\n",
        REFERENCE / "datasets.md": "\n".join([NOTICE, "", *_datasets()]) + "\n",
    }


def _datasets() -> Iterator[str]:
    yield DATASETS
    tables: dict[str, type[BaseModel]] = {
        "Top level": cells.Definition,
        "`[machine]`": cells.Machine,
        "`[[system]]`": cells.SystemTable,
        "`[[metric]]`": cells.MetricTable,
        "`[factors.COLUMN]`": cells.FactorTable,
        "`[derived]`": cells.DerivedTable,
        "`[derived.metric.NAME]`": cells.DerivedMetric,
        "`[failures]`": cells.FailuresTable,
        "`[show]`": cells.Show,
        "`[show.bands]`": cells.Bands,
        "`[[series]]`": cells.SeriesTable,
        "`[[series.what_if]]`": cells.WhatIf,
        "`[series.fit]`": cells.Fit,
        "`[[series.fit.parameter]]`": cells.Parameter,
        "`[[series.fit.extra]]`": cells.Extra,
        "`[[cause]]` in `causes.toml`": Cause,
    }
    yield from _models_of(tables, "##")


def _models_of(tables: Mapping[str, type[BaseModel]], level: str) -> Iterator[str]:
    """A section for every table, with its keys and no table inside it."""
    for title, table in tables.items():
        schema = table.model_json_schema(by_alias=True)
        yield f"{level} {title}\n"
        yield f"{_sentence(schema['description'])}\n"
        yield from _keys(schema["properties"], required=schema.get("required", ()))
        yield ""


def _experiments() -> Iterator[str]:
    schema = Experiment.model_json_schema(by_alias=True)
    yield EXPERIMENTS
    yield "## Top level\n"
    plain = {
        key: value
        for key, value in schema["properties"].items()
        if {"type", "anyOf"} & value.keys()
    }
    plain = {key: value for key, value in plain.items() if _table(value)[0] is None}
    yield from _keys(plain, required=schema["required"])
    yield ""
    yield from _tables(schema["properties"], schema["$defs"], "", label="experiment-")


def _scenario() -> Iterator[str]:
    schema = json_schema()
    tables: Mapping[str, Any] = schema["$defs"]
    yield SCENARIO
    yield "## Top level\n"
    plain = {
        key: value for key, value in schema["properties"].items() if value.get("type") == "string"
    }
    yield from _keys(plain, required=())
    yield ""
    yield from _tables(schema["properties"], tables, "")
    yield "## Presets of the network\n"
    yield "Half the published round trip counts in each direction. Sites by preset:\n"
    for name, regions in REGIONS.items():
        yield f"- `{name}`: {', '.join(sorted(regions.sites))}"
    yield "\n## Proxies\n"
    yield f"{PROXIES}\n"
    yield from _proxies()
    yield "\n## Presets of the workload\n"
    yield "Keys of the scenario replace those of the preset; classes are matched by `name`.\n"
    yield from _workloads()


def _proxies() -> Iterator[str]:
    """A column per proxy; what one does otherwise with a product stands in brackets."""
    kinds = proxies()
    yield f"| key | {' | '.join(f'`{name}`' for name in kinds)} |"
    yield f"|---|{'---|' * len(kinds)}"
    for key in dict.fromkeys(key for kind in kinds.values() for key in kind):
        if key in {"only", "models"}:
            continue
        cells = []
        for kind in kinds.values():
            others = {model: own[key] for model, own in kind.get("models", {}).items()
                      if key in own and own[key] != kind.get(key)}  # fmt: skip
            said = [_value(kind[key]) if key in kind else "`check_s`"]
            said += [f"({model}: {_value(value)})" for model, value in others.items()]
            cells.append(" ".join(said))
        yield f"| `{key}` | {' | '.join(cells)} |"
    for name, kind in kinds.items():
        if "only" in kind:
            yield f"\n`{name}` is for {', '.join(f'`{model}`' for model in kind['only'])}."


def _tables(
    properties: Mapping[str, Any], tables: Mapping[str, Any], path: str, label: str = ""
) -> Iterator[str]:
    """A section for every table among the properties, and for the tables inside them.

    ``label`` begins their labels, which no other page may have.
    """
    for key, value in properties.items():
        name, is_list = _table(value)
        if name is None:
            continue
        full = f"{path}{key}"
        table = tables[name]
        yield f'<a id="{label}{full.replace(".", "-")}"></a>\n'
        yield f"## `[[{full}]]`\n" if is_list else f"## `[{full}]`\n"
        yield f"{_sentence(value.get('description') or table['description'])}\n"
        inner = table["properties"]
        own = {k: v for k, v in inner.items() if _table(v)[0] is None}
        if name in {"HostTable", "NodeTable"}:
            own = {k: v for k, v in own.items() if k not in tables["MachineTable"]["properties"]}
            yield f"{MACHINE}\n"
        yield from _keys(own, required=table.get("required", ()))
        yield ""
        if key == "jitter" and full != "network.jitter":
            continue
        yield from _tables(inner, tables, f"{full}.", label)


def _keys(properties: Mapping[str, Any], required: tuple[str, ...] | list[str]) -> Iterator[str]:
    yield "| key | unit | type | default | meaning |"
    yield "|---|---|---|---|---|"
    for key, value in properties.items():
        meaning = value.get("description", "")
        text, _, stated = meaning.partition("; default: ")
        default = "required" if key in required else stated or _value(value.get("default"))
        yield f"| `{key}` | {_unit(key)} | {_type(value)} | {default} | {_cell(text)} |"


def _table(value: Mapping[str, Any]) -> tuple[str | None, bool]:
    """The name of the table behind a property, and whether it is a list of such."""
    for option in (value, *value.get("anyOf", ())):
        if "$ref" in option:
            return option["$ref"].rpartition("/")[2], False
        if "$ref" in option.get("items", {}):
            return option["items"]["$ref"].rpartition("/")[2], True
    return None, False


def _type(value: Mapping[str, Any]) -> str:
    options = [o for o in value.get("anyOf", [value]) if o.get("type") != "null"]
    return " or ".join(dict.fromkeys(map(_one_type, options)))


def _one_type(value: Mapping[str, Any]) -> str:
    if isinstance(value.get("const"), str):
        return f'`"{value["const"]}"`'
    if "enum" in value:
        return ", ".join(f'`"{choice}"`' for choice in value["enum"])
    if "$ref" in value or "allOf" in value:
        return "table"
    if value.get("type") == "array":
        return f"list of {_type(value['items'])}"
    kind = {"integer": "whole number", "object": "table"}.get(value["type"], value["type"])
    bounds = [f"{sign} {value[key]}" for key, sign in BOUNDS.items() if key in value]
    return " ".join([kind, ", ".join(bounds)]).strip()


def _unit(key: str) -> str:
    return next((unit for suffix, unit in UNITS.items() if key.endswith(suffix)), "")


def _value(value: Any) -> str:
    if value is None or value in ("", [], {}) or isinstance(value, Mapping):
        return ""
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str):
        return f'`"{value}"`'
    return f"`{value}`" if isinstance(value, int) else f"`{value:g}`"


def _workloads() -> Iterator[str]:
    yield "| preset | key | value |"
    yield "|---|---|---|"
    for name in get_args(Preset):
        for path, value in _flat(preset(name)):
            yield f"| `{name}` | `{path}` | {_value(value)} |"


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    inner = value.items() if isinstance(value, Mapping) else enumerate(value)
    for key, item in inner:
        full = f"{path}.{key}" if path else str(key)
        if isinstance(item, (Mapping, list)):
            yield from _flat(item, full)
        else:
            yield full, item


def _models() -> Iterator[str]:
    yield MODELS
    for name in model_names():
        model = find_model(name)
        if not model.__module__.startswith("simrep."):
            continue  # of another package, which describes it itself
        card = model_card(model)
        yield f"## {name}\n"
        yield f"{card['summary']}\n"
        yield f"Versions: {', '.join(f'`{v}`' for v in card['versions'])}\n"
        yield from _packs(card["packs"])
        yield f"Faults: {', '.join(f'`{word}`' for word in card['faults']) or 'none'}\n"
        operations = ", ".join(f"`{word}`" for word in card["operations"])
        yield f"Operations: {operations or 'none'}\n"
        yield f"### Assumptions of {name}\n"
        yield from _assumptions(model)
        yield f"### Options of {name}\n"
        yield "| option | meaning | default | in versions | allowed |"
        yield "|---|---|---|---|---|"
        for option, facts in card["options"].items():
            also = ", ".join(f"`{other}`" for other in facts["also_spelled"])
            meaning = facts["description"] + (f" (also spelled {also})" if also else "")
            yield (
                f"| `{option}` | {_cell(meaning)} | {_value(facts['default'])} "
                f"| {_versions(facts)} | {_cell(facts['allowed'])} |"
            )
        yield f"\n### Costs of {name}\n"
        yield "| cost | default | usual | unit | meaning |"
        yield "|---|---|---|---|---|"
        for cost, facts in card["costs"].items():
            unit = {"us": "µs"}.get(facts["unit"], facts["unit"])
            usual = " to ".join(f"{bound:g}" for bound in facts["range"] or ())
            yield (
                f"| `{cost}` | {facts['default']:g} | {usual} | {unit} "
                f"| {_cell(facts['description'])} |"
            )
        yield ""


def _assumptions(model: type[Model]) -> Iterator[str]:
    """The sections Assumptions and References of the module's docstring, as lists."""
    text = inspect.getdoc(sys.modules[model.__module__]) or ""
    _, _, after = text.partition("Assumptions\n-----------\n")
    assumptions, _, references = after.partition("References\n----------\n")
    lines = assumptions.strip().splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        is_term = following.startswith(" ") and not line.startswith(" ")
        yield f"- **{line}**:" if is_term else line.replace("``", "`")
    sources = " ".join(references.split()).replace("``", "`")
    yield f"\nSources: {sources}\n"


def _packs(names: list[str]) -> Iterator[str]:
    for name in names:
        card = load_pack(name, "simrep.models").card
        linked = f"[`{name}`](../../models/packs/{name}.md)"
        yield f"- Pack {linked}: {card.description}. Machine: {card.machine}."
        yield f"  Source: {card.source}. Fitted on: {card.fitted_on}."
    if names:
        yield ""


def _versions(facts: Mapping[str, Any]) -> str:
    """Versions that differ from the default, those of one value together."""
    groups: dict[str, list[str]] = {}
    for version, value in facts["by_version"].items():
        if value != facts["default"]:
            groups.setdefault(_value(value), []).append(version)
    return "; ".join(f"{value}: {', '.join(group)}" for value, group in groups.items())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


if __name__ == "__main__":
    for file, content in pages().items():
        file.write_text(content, encoding="utf-8")
