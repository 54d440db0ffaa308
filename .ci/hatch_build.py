"""Compiles the modules of a wheel ahead of time: only where HATCH_BUILD_HOOK_ENABLE_CUSTOM is true.

The modules are named in pyproject.toml. Their source is in the wheel, too: it is what tracebacks
show, and what a Python without the compiled files would take.
"""

from __future__ import annotations

import ast
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Of what is compiled, classes of these kinds are no native ones.
_NOT_NATIVE = {"Enum", "Exception", "IntEnum", "NamedTuple", "Protocol", "TypedDict"}

# Models of others, and modules that are not compiled, may extend every class. What that takes is
# added here, in lines that are empty, so that the lines of the source stay where they are.
_OPEN = "@mypyc_attr(allow_interpreted_subclasses=True)"
_FUTURE = "from __future__ import annotations"

# Floats are the same on every processor: no multiplication is fused with an addition.
_FLAGS = ["-O2", "-g0", "-w", "-fno-strict-aliasing", "-fwrapv", "-ffp-contract=off"]

_MYPY = """[mypy]
ignore_missing_imports = True
plugins = pydantic.mypy
always_true = COMPILED
"""


class CompiledBuild(BuildHookInterface):
    """See the module."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and add what came out to the wheel."""
        if version == "editable":
            return
        folder = Path(self.root, "build", "compiled")
        shutil.rmtree(folder, ignore_errors=True)
        stage = folder / "stage"
        lay_out(Path(self.root), stage)
        modules = [f"simrep/{module}.py" for module in self.config["modules"]]
        closed = frozenset(self.config["closed"])
        for module in modules:
            open_classes(stage / module, closed)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for path in compile_modules(stage, modules, folder):
            build_data["force_include"][str(path)] = str(path.relative_to(folder / "lib"))


def lay_out(root: Path, stage: Path) -> None:
    """The package as it will be installed: its models are a folder of it."""
    caches = shutil.ignore_patterns("__pycache__")
    links = shutil.ignore_patterns("__pycache__", "models", "rig", "datasets")
    shutil.copytree(root / "simrep", stage / "simrep", ignore=links)
    shutil.copytree(root / "models", stage / "simrep" / "models", ignore=caches)


def open_classes(path: Path, closed: Iterable[str] = ()) -> None:
    """Let interpreted classes extend those of a module, but for some that are ``closed``."""
    text = path.read_text()
    lines = text.split("\n")
    hand_arguments_on(text, lines)
    opened = False
    for node in ast.parse(text).body:
        if not isinstance(node, ast.ClassDef) or f"{path.stem}.{node.name}" in closed:
            continue
        bases = {ast.unparse(base).split("[")[0].rpartition(".")[2] for base in node.bases}
        decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
        if bases & _NOT_NATIVE or any("dataclass" not in text for text in decorators):
            continue
        above = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 2
        if lines[above].strip() and not lines[above].startswith("#"):
            raise ValueError(f"{path}: no empty line above class {node.name}")
        lines[above] = _OPEN
        opened = True
    if opened:
        first = lines.index(_FUTURE)
        lines[first] += "; MYPY = False"  # which mypy takes for true
        lines[first + 1] = "if MYPY: from mypy_extensions import mypyc_attr"
    frozen = [
        node.name
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef)
        and any("frozen=True" in ast.unparse(decorator) for decorator in node.decorator_list)
    ]
    if frozen:
        lines += ["from simrep.kernel.twin import thaw", f"thaw({', '.join(frozen)})", ""]
    path.write_text("\n".join(lines))


def hand_arguments_on(text: str, lines: list[str]) -> None:
    """Look up an ``__init__`` that takes ``*args`` or ``**how``: mypyc takes those for one each."""
    for owner in ast.walk(ast.parse(text)):
        if not isinstance(owner, ast.ClassDef):
            continue
        for call in ast.walk(owner):
            if not isinstance(call, ast.Call) or ast.unparse(call.func) != "super().__init__":
                continue
            starred = any(isinstance(argument, ast.Starred) for argument in call.args)
            if starred or any(keyword.arg is None for keyword in call.keywords):
                base = ast.unparse(owner.bases[0]).split("[")[0]
                line = lines[call.lineno - 1]
                looked_up = f'getattr({base}, "__init__")(self, '
                lines[call.lineno - 1] = line.replace("super().__init__(", looked_up)


def compile_modules(stage: Path, modules: list[str], folder: Path) -> list[Path]:
    """The compiled files of some modules, in ``folder``/lib."""
    import setuptools  # noqa: F401 - mypyc asks whether it has been imported
    from mypyc.build import mypycify
    from setuptools._distutils.ccompiler import new_compiler
    from setuptools._distutils.sysconfig import customize_compiler

    config = folder / "mypy.ini"
    config.write_text(_MYPY)
    home = Path.cwd()
    os.chdir(stage)  # the names of the modules follow from their paths
    try:
        extensions = mypycify(
            ["--config-file", str(config), *modules],
            multi_file=True,
            target_dir=str(folder / "c"),
            group_name="simrep",
            debug_level="0",
        )
    finally:
        os.chdir(home)
    compiler = new_compiler()
    customize_compiler(compiler)
    include = sysconfig.get_paths()["include"]

    def compiled(source: str, include_dirs: list[str]) -> str:
        [built] = compiler.compile(
            [source],
            output_dir=str(folder / "o"),
            include_dirs=[include, *include_dirs],
            extra_postargs=_FLAGS,
        )
        return str(built)

    libraries = []
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for extension in extensions:
            sources = extension.sources
            objects = list(pool.map(compiled, sources, [extension.include_dirs] * len(sources)))
            library = folder / "lib" / (extension.name.replace(".", "/") + suffix)
            compiler.link_shared_object(objects, str(library))
            libraries.append(library)
    sys.stderr.write(f"compiled {len(modules)} modules\n")
    return libraries
