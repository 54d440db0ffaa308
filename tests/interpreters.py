"""Runs what pins the engine with every newer Python that is found: ``make interpreters``.

``make test`` needs one interpreter, the oldest that is supported. A newer one on the PATH, as
``python3.12``, that really runs gets an environment of its own (.venv-3.12), without notebooks,
pages and tools. It runs the golden traces, random scenarios whose results must be equal bit
for bit, and the tests of the engine's parts.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEWER = ("3.12", "3.13", "3.14")
NEEDED = (".[testing]", "pytest>=8.2")
PARTS = (
    "acknowledgements", "appliers", "binlog", "certification", "clock", "dependencies", "fifo",
    "histogram", "host", "link", "locks", "membership", "meter", "mutex", "order", "ranges", "run",
    "series", "storage", "streams", "testing", "xcom",
)  # fmt: skip
TESTS = ("tests/golden", *(f"tests/unit/test_{part}.py" for part in PARTS))


def found(version: str) -> str | None:
    """The interpreter of a version; None if there is none, or only a stub that does not run."""
    program = shutil.which(f"python{version}")
    if program is None:
        return None
    asked = [program, "-c", "import sys; print('{}.{}'.format(*sys.version_info))"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    return program if answer.stdout.strip() == version else None


def environment(program: str, version: str) -> Path:
    """Its environment, made if it is missing or older than what it is made from."""
    folder = ROOT / f".venv-{version}"
    python, done = folder / "bin" / "python", folder / "tested"
    if not done.exists() or done.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        subprocess.run([program, "-m", "venv", folder], check=True)
        quiet = ["--quiet", "--disable-pip-version-check"]
        subprocess.run(
            [python, "-m", "pip", "install", *quiet, "--editable", *NEEDED], cwd=ROOT, check=True
        )
        done.touch()
    return python


def main() -> int:
    """Test with all that are found."""
    failed = []
    for version in NEWER:
        program = found(version)
        if program is None:
            print(f"Python {version}: not found")
            continue
        print(f"Python {version}: {program}", flush=True)
        python = environment(program, version)
        pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
        if subprocess.run(pytest, cwd=ROOT, check=False).returncode:
            failed.append(version)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
