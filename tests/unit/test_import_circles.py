"""Modules that import each other, be it in a function or for type checkers alone, and wherever."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST = 3
"""So many circles there may be; those of today are named in what a failure prints."""


def modules() -> dict[str, Path]:
    """The files of the product by the names of their modules; the rig is none of it."""
    found = {}
    for top, name in ((ROOT / "simrep", "simrep"), (ROOT / "models", "simrep.models")):
        for path in sorted(top.rglob("*.py")):
            parts = path.relative_to(top).with_suffix("").parts
            if parts[0] not in {"models", "rig"} or top.name == "models":
                whole = ".".join((name, *parts)).removesuffix(".__init__")
                found[whole] = path
    return found


def imported(module: str, files: dict[str, Path]) -> Iterator[str]:
    """What a module imports anywhere: ``from simrep.x import y`` is y, if that is a module."""
    path = files[module]
    package = module.split(".") if path.stem == "__init__" else module.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inside = f"{base}.{alias.name}"
                yield inside if inside in files else base


@cache
def imports() -> dict[str, frozenset[str]]:
    """What each module imports."""
    files = modules()
    return {name: frozenset(imported(name, files)) for name in files}


def graph() -> dict[str, set[str]]:
    """The same, of each other; ``simrep`` itself, the face that loads all lazily, is left out."""
    inside = imports().keys() - {"simrep"}
    return {name: set(imports()[name] & inside) - {name} for name in sorted(inside)}


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Modules that reach each other, without an order (Tarjan's strongly connected components)."""
    numbers: dict[str, int] = {}
    lows: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        numbers[module] = lows[module] = len(numbers)
        path.append(module)
        for other in sorted(edges[module]):
            if other not in numbers:
                visit(other)
            if other in path:
                lows[module] = min(lows[module], lows[other])
        if lows[module] == numbers[module]:
            component = path[path.index(module) :]
            del path[path.index(module) :]
            if len(component) > 1:
                found.append(sorted(component))

    for module in edges:
        if module not in numbers:
            visit(module)
    return sorted(found)


def test_few_modules_import_each_other():
    found = circles(graph())
    assert len(found) <= MOST, "\n".join(map(str, found))


def test_no_module_imports_the_face():
    """It loads everything, so that whoever imports it imports himself."""
    faces = {name for name in graph() if "simrep" in imports()[name]}
    assert not faces


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
