"""Which product a server is: the model that stands for it, its version and its nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from simrep.contract.card import package_of
from simrep.contract.recognition import Recognition
from simrep.contract.registry import find_model, model_names
from simrep.contract.server_reading import ServerReading
from simrep.errors import ScenarioError
from simrep.intake.findings import Findings
from simrep.scenario.options import versions

__all__ = ["Identity", "identity_of", "recognitions"]

_MOST_NODES = 64


@dataclass(frozen=True, slots=True)
class Identity:
    """The product that is simulated."""

    model: str
    version: str | None  # of those that the model knows; None where it is to be the newest
    nodes: int
    recognition: Recognition  # what the model knows of the server's files


def recognitions() -> Mapping[str, Recognition]:
    """What the installed models know of servers, in the order in which they are asked.

    Without models that cannot be used: one is told why when it is asked for by its name.
    """
    known: dict[str, Recognition] = {}
    for name in model_names():
        with suppress(ScenarioError):
            known[name] = find_model(name).recognition
    return dict(sorted(known.items(), key=lambda item: item[1].rank))


def identity_of(
    server: ServerReading,
    known: Mapping[str, Recognition],
    findings: Findings,
    *,
    model: str | None = None,
    nodes: int | None = None,
) -> Identity:
    """Find out model, version and number of nodes, unless they are told.

    Models are asked in the order of ``known``; findings are told what was read and what was not.
    """
    if model is None:
        model = _model(server, known, findings)
    else:
        find_model(model, "--model")
        findings.told("cluster.model", model, "--model")
    recognition = known[model]
    version = _version(server, model, recognition, findings)
    if nodes is not None:
        findings.told("cluster.nodes", nodes, "--nodes")
    elif recognition.single:
        nodes = 1
    else:
        clue = recognition.nodes(server)
        if clue is not None and not 1 <= clue.value <= _MOST_NODES:
            problem = f"{clue.note} gives {clue.value} nodes"
            raise ScenarioError("--nodes", problem, "name their number")
        why = "not in the files; --nodes names it"
        nodes = int(findings.clue("cluster.nodes", clue, recognition.default_nodes, why))
    return Identity(model, version, nodes, recognition)


def _model(server: ServerReading, known: Mapping[str, Recognition], findings: Findings) -> str:
    """The first model that recognises the server; one without a place is taken by default."""
    for name, recognition in known.items():
        evidence = recognition.evidence(server)
        if evidence is None:
            continue
        if evidence.places:
            findings.read("cluster.model", name, evidence.places, evidence.note)
        else:
            findings.default("cluster.model", name, evidence.note)
        return name
    raise ScenarioError("--model", "no installed model knows such a server", ", ".join(known))


def _version(
    server: ServerReading, model: str, recognition: Recognition, findings: Findings
) -> str | None:
    """The newest version known to the model that is not newer than the server's."""
    family, numbers, entry = recognition.release(server)
    known = versions(package_of(find_model(model)), model)
    own = sorted((name for name in known if name.startswith(f"{family}-")), key=_numbers)
    if not own:
        why = f"the model's newest: it knows no {family}" if family else "the model's newest"
        findings.default("cluster.version", None, why)
        return None
    if numbers is None:
        why = "no version in the files: --variables or --server-version tell it"
        return str(findings.default("cluster.version", own[-1], why))
    older = [name for name in own if _numbers(name) <= numbers]
    # Releases within a series count up from their first: 8.0 is before 8.0.36.
    chosen = older[-1] if older else own[0]
    note = f"of {'.'.join(map(str, numbers))}; the model knows {', '.join(own)}"
    if entry is None:
        return str(findings.told("cluster.version", chosen, "--server-version"))
    return str(findings.read("cluster.version", chosen, [entry.place], note))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))
