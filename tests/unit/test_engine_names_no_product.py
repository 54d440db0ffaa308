"""The engine knows no product: not by its name, not by an option, not by a counter.

What import-linter cannot see: names in identifiers and in strings. Docstrings and the texts of
``--help`` and of the schema may give examples, and the sources of priors are citations.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from simrep.contract.registry import usable_models
from simrep.scenario.problems import spellings

ENGINE = Path(__file__).parents[2] / "simrep"
NOT_THE_ENGINE = {"models", "rig", "datasets"}  # links to what products are made of
ABOUT_THE_RIG = {"cli/rig.py"}
CITATIONS = {"scenario/prior.py"}
EXAMPLES = {"help", "epilog", "description"}  # arguments with a text for people
LOADS = {"mysqlslap"}  # the name of a load, which presets are called by

# Words that no option, model or candidate of the shipped models holds by itself.
MORE = ["xcom", "gcomm", "gcache", "wsrep", "gcs.", "evs.", "mariadb", "mysql", "percona"]


def product_words() -> list[str]:
    models = usable_models()
    told = [own.name for model in models for own in model.deployments()]
    names = [*(model.name for model in models), *(one.partition(",")[0] for one in told)]
    asked = [question.name for model in models for question in model.questions()]
    return sorted({*map(str.lower, (*names, *asked)), *MORE} - {"fragment", "rejoin", "timeouts"})


def option_words() -> set[str]:
    tables = [table for model in usable_models() for table in (model.Options, model.Session)]
    return {
        word
        for table in tables
        if table is not None
        for name, field in table.model_fields.items()
        for word in (name, *spellings(name, field))
        if "_" in word or "." in word
    }


def modules() -> list[Path]:
    found = (path.relative_to(ENGINE) for path in ENGINE.rglob("*.py"))
    return sorted(
        path
        for path in found
        if path.parts[0] not in NOT_THE_ENGINE and str(path) not in ABOUT_THE_RIG
    )


def texts_for_people(tree: ast.AST) -> set[int]:
    """Docstrings, strings that stand alone, and examples in helps."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found.add(id(node.value))
        elif isinstance(node, ast.keyword) and node.arg in EXAMPLES:
            found.update(id(part) for part in ast.walk(node.value))
    return found


def words_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Identifiers and strings, with their lines."""
    left_out = texts_for_people(tree)
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word):
                yield line, word
            case ast.FunctionDef(name=word) | ast.ClassDef(name=word) | ast.alias(name=word):
                yield line, word
            case ast.keyword(arg=str(word)) | ast.ImportFrom(module=str(word)):
                yield line, word
            case ast.Constant(value=str(word)) if id(node) not in left_out:
                yield line, word


PRODUCTS = re.compile("|".join(map(re.escape, product_words())))
OPTIONS = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, sorted(option_words())))})(?![\w.])")


@cache
def named(word: str) -> str:
    """The product or the option that a word names; empty if it names none."""
    plain = word
    for load in LOADS:
        plain = plain.replace(load, "")
    found = PRODUCTS.search(plain.lower()) or OPTIONS.search(plain)
    return found[0] if found else ""


@pytest.mark.parametrize("room", sorted({path.parts[0] for path in modules()}))
def test_no_module_names_a_product(room):
    found = [
        f"{path}:{line}: {word!r} names {product!r}"
        for path in modules()
        if path.parts[0] == room and str(path) not in CITATIONS
        for line, word in words_of(ast.parse((ENGINE / path).read_text(encoding="utf-8")))
        if (product := named(word))
    ]
    assert not found, "\n".join(found)


def test_the_search_finds_what_it_looks_for():
    text = """def galera_form(x, wsrep_y=1):
        "Galera is a word of a docstring."
        say(help="for example galera")
        return x.fc_limit, "evs.send_window", send_window, "mysqlslap-insert", "innodb_x"
    """
    found = [product for _, word in words_of(ast.parse(text)) if (product := named(word))]
    assert sorted(found) == ["evs.", "fc_limit", "galera", "send_window", "wsrep"]
    assert named("the Group Replication model") == "group replication"
    assert named("a semi-synchronous commit") == "semi-synchronous"
