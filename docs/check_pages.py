"""How long the pages are and how they read, worst first: ``make docs`` prints it.

The figure is Flesch's reading ease of the prose: 206.8 - 1.015 words a sentence - 84.6 syllables a
word. Syllables are groups of vowels without a silent e at the end: textstat counts with a
dictionary that it loads from the network, and hyphenation misses a fifth of them. Code, tables and
headings do not count as prose, and a name in backticks is one short word. The words of a page are
all it has.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
GENERATED = "<!-- Written by "
LEAST_EASE = 45.0  # a page that reads harder is an error

_BLOCKS = re.compile(
    r"^```.*?^```$|^<!--.*?-->$|^\$\$.*?\$\$$|^\|.*?$|^#.*?$|^\[[^\]]+\]: .*?$|^<.*?>$",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)", re.DOTALL)
_CODE = re.compile(r"`[^`]*`|\$[^$\n]+\$")
_ITEM = re.compile(r"^\s*(?:- |\d+\. )", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])[\s*)]+(?=\S)")
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
_VOWELS = re.compile(r"[aeiouy]+")
_SILENT = re.compile(r"(?<=[^laeiouy])e(?:d|s)?$|(?<=[aeiouy]l)es?$")


@dataclass(frozen=True, slots=True)
class Page:
    """One page: all its words, those of its prose, and how that reads."""

    name: str
    words: int
    prose: int
    per_sentence: float
    longest: int
    ease: float


def notebook(source: str) -> str:
    """The text cells of a notebook."""
    lines, inside = [], False
    for line in source.splitlines():
        if line.startswith("# %%"):
            inside = "[markdown]" in line
            lines.append("")
        elif inside:
            lines.append(line[2:])
    return "\n".join(lines)


def judged(name: str, text: str) -> Page:
    """How a page reads."""
    prose = _LINK.sub(r"\1", _BLOCKS.sub("\n\n", text))
    prose = _ITEM.sub("\n\n", _CODE.sub("code", prose))
    parts = [part for block in re.split(r"\n\s*\n", prose) for part in _SENTENCE.split(block)]
    sentences = [found for part in parts if (found := _WORD.findall(part))]
    words = [word for sentence in sentences for word in sentence]
    if not words:
        return Page(name, len(text.split()), 0, 0.0, 0, 100.0)
    syllables = sum(max(1, len(_VOWELS.findall(_SILENT.sub("", word.lower())))) for word in words)
    per_sentence = len(words) / len(sentences)
    return Page(
        name=name,
        words=len(text.split()),
        prose=len(words),
        per_sentence=per_sentence,
        longest=max(map(len, sentences)),
        ease=206.835 - 1.015 * per_sentence - 84.6 * syllables / len(words),
    )


def pages() -> list[Page]:
    """Every page written by hand, hardest to read first."""
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    texts |= {
        file: notebook(file.read_text(encoding="utf-8"))
        for file in (ROOT / "notebooks").glob("[0-9]*.py")
    }
    scores = ROOT / "docs" / "validation"
    found = [
        judged(str(file.relative_to(ROOT)), text)
        for file, text in texts.items()
        if not text.startswith(GENERATED) and scores not in file.parents
    ]
    return sorted(found, key=lambda page: page.ease)


def main() -> int:
    """Print the table; fail when a page reads too hard."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worst", type=int, default=10, help="rows of the table; 0 for all")
    worst = parser.parse_args().worst
    found = pages()
    table = Table(title="How the pages read, hardest first", title_justify="left")
    table.add_column("page", no_wrap=True)
    for column in ("reading ease", "words a sentence", "longest", "words of prose", "words"):
        table.add_column(column, justify="right")
    for page in found[: worst or None]:
        table.add_row(
            page.name,
            f"{page.ease:.0f}",
            f"{page.per_sentence:.1f}",
            str(page.longest),
            f"{page.prose:,}",
            f"{page.words:,}",
        )
    console = Console(width=110)
    console.print(table)
    console.print(
        f"{len(found)} pages written by hand: {sum(page.words for page in found):,} words, "
        f"{sum(page.prose for page in found):,} of them prose."
    )
    hard = [page.name for page in found if page.prose >= 100 and page.ease < LEAST_EASE]
    if hard:
        console.print(f"Too hard to read (under {LEAST_EASE:.0f}): {', '.join(hard)}")
    return 1 if hard else 0


if __name__ == "__main__":
    sys.exit(main())
