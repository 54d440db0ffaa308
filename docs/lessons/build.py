"""Builds the lessons: a folder of static pages, with Python and simrep in them.

    python docs/lessons/build.py [--out build/lessons] [--engine FOLDER]

Pyodide comes from npm, the packages from PyPI, each in the version that is pinned here; both are
kept in ``build/engine`` and fetched once. Node compiles the packages, so that a page starts
sooner. ``--engine`` names a folder with an unpacked ``pyodide`` package.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = HERE / "page"
KEPT = ROOT / "build" / "engine"

PYODIDE = "314.0.7"
"""Its Python is 3.14, the only one for which PyPI has a pydantic-core that runs in browsers."""

WHEELS = {
    "pydantic-core": "2.50.5",
    "pydantic": "2.14.4",
    "simpy": "4.1.2",
    "annotated-types": "0.8.0",
    "typing-extensions": "4.16.0",
    "typing-inspection": "0.4.5",
}
BROWSER = ("--platform", "pyemscripten_2026_0_wasm32", "--python-version", "3.14",
           "--implementation", "cp", "--abi", "cp314")  # fmt: skip
# What no lesson runs. Data of measurements alone are fifteen megabytes.
LEFT_OUT = ("cli", "calibrate", "data", "datasets", "exploration", "intake", "models", "packs",
            "rig", "testing", "show/plot", "show/text")  # fmt: skip
LESSONS = {
    "1-farthest": "Why a commit waits for the farthest site",
    "2-windows": "Windows and concurrency",
    "3-conflicts": "Conflicts",
    "4-dying": "The day a node dies",
    "5-lost": "Semi-sync, and what it loses",
    "6-bite": "Too big a bite",
}
EXPLAINED = ("dying", "lost", "bite")
"""Labs in which something stands still."""


def main() -> None:
    """Build the folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "lessons")
    parser.add_argument("--engine", type=Path, help="an unpacked npm package pyodide")
    given = parser.parse_args()
    engine = given.engine or _pyodide()
    out: Path = given.out
    shutil.rmtree(out, ignore_errors=True)
    (out / "engine").mkdir(parents=True)
    _pages(out)
    _engine(engine, _site(engine, _wheels()), out / "engine")
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"{out}/index.html: {len(LESSONS)} lessons, {size / 1e6:.1f} MB")


def _pyodide() -> Path:
    """The npm package, fetched if it is not there."""
    folder = KEPT / f"pyodide-{PYODIDE}"
    if not (folder / "package" / "pyodide.asm.wasm").exists():
        if shutil.which("npm") is None:
            sys.exit("make lessons needs npm and node (18 or later) to fetch Pyodide")
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "pack", "--silent", f"pyodide@{PYODIDE}"], cwd=folder, check=True)
        with tarfile.open(folder / f"pyodide-{PYODIDE}.tgz") as packed:
            packed.extractall(folder, filter="data")
    return folder / "package"


def _wheels() -> list[Path]:
    """The wheels that a run needs, fetched if they are not there."""
    folder = KEPT / "wheels"
    for name, version in WHEELS.items():
        if any(folder.glob(f"{name.replace('-', '_')}-{version}-*.whl")):
            continue
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
             "--no-deps", "--only-binary", ":all:", "--dest", str(folder), *BROWSER,
             f"{name}=={version}"],
            check=True,
        )  # fmt: skip
    return [
        next(folder.glob(f"{name.replace('-', '_')}-{version}-*.whl"))
        for name, version in WHEELS.items()
    ]


def _site(engine: Path, wheels: list[Path]) -> bytes:
    """All packages in one archive, compiled."""
    folder = ROOT / "build" / "site-packages"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder)
    aside = shutil.ignore_patterns("__pycache__", "*.pyi", "*.md")

    def left_out(where: str, names: list[str]) -> set[str]:
        inside = Path(where).relative_to(source)
        parts = {name for name in names if str(inside / name) in LEFT_OUT}
        return parts | set(aside(where, names))

    for source, target in ((ROOT / "simrep", "simrep"), (ROOT / "models", "simrep/models")):
        shutil.copytree(source, folder / target, ignore=left_out)
    shutil.copy(HERE / "labs.py", folder)
    known = folder / f"simrep-{distribution('simrep').version}.dist-info"
    known.mkdir()
    for name in ("METADATA", "entry_points.txt"):
        (known / name).write_text(distribution("simrep").read_text(name) or "")
    out = ROOT / "build" / "site.zip"
    subprocess.run(["node", HERE / "compile.mjs", engine, folder, out], check=True)
    return out.read_bytes()


def _engine(engine: Path, site: bytes, out: Path) -> None:
    """Each file as a script that hands it over: a browser loads those without a server, too."""
    lock = json.loads((engine / "pyodide-lock.json").read_text())["info"]
    worker = (PAGE / "worker.js").read_text().replace("__LOCK_INFO__", json.dumps(lock))
    files = {
        "worker": worker.encode(),
        "pyodide": (engine / "pyodide.mjs").read_bytes(),
        "asm": (engine / "pyodide.asm.mjs").read_bytes(),
        "wasm": (engine / "pyodide.asm.wasm").read_bytes(),
        "stdlib": (engine / "python_stdlib.zip").read_bytes(),
        "site": site,
    }
    for name, content in files.items():
        text = base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()
        (out / f"{name}.js").write_text(f'simrepFile("{name}","{text}");\n')


def _pages(out: Path) -> None:
    sys.path.insert(0, str(HERE))
    import labs

    for name in ("engine.js", "lesson.js", "draw.js", "lesson.css"):
        shutil.copy(PAGE / name, out)
    from simrep.show.player.page import script, style

    (out / "player.js").write_text(script())
    (out / "player.css").write_text(style())
    (out / "first").mkdir()
    template = (PAGE / "lesson.html").read_text()
    names = list(LESSONS)
    for number, (name, title) in enumerate(LESSONS.items()):
        lab = name.partition("-")[2]
        after = names[number + 1] if number + 1 < len(names) else None
        content = template
        for key, value in {
            "{{title}}": title,
            "{{number}}": str(number + 1),
            "{{lab}}": lab,
            "{{body}}": (PAGE / f"{name}.html").read_text(),
            "{{before}}": _link(names[number - 1] if number else None, "Before: "),
            "{{after}}": _link(after, "Next: "),
        }.items():
            content = content.replace(key, value)
        (out / f"{name}.html").write_text(content)
        settings, faults = labs.first_settings(lab), labs.first_faults(lab)
        titles = labs.scenarios(lab, settings, faults) if lab in EXPLAINED else ()
        first = _lab(labs.LABS[lab]) | {
            "faults": faults,
            "run": labs.play(lab, settings, faults),
            "why": {title: labs.why(lab, settings, faults, title) for title in titles},
        }
        text = json.dumps(first, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
        (out / "first" / f"{lab}.js").write_text(f"simrepFirst({text});\n")
    (out / "index.html").write_text((PAGE / "index.html").read_text())


def _link(name: str | None, before: str) -> str:
    return f'<a href="{name}.html">{before}{LESSONS[name]}</a>' if name else "<span></span>"


def _lab(lab: Any) -> dict[str, Any]:
    """What the page must know of a lab."""
    return {
        "controls": [
            {
                "name": one.name,
                "label": one.label,
                "values": list(one.values),
                "start": one.start,
                "unit": getattr(one, "unit", None),
            }
            for one in lab.controls
        ],
        "views": list(lab.views),
        "bin_s": lab.bin_s,
        "breakable": lab.breakable,
    }


if __name__ == "__main__":
    main()
