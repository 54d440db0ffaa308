"""Random changes of what people write: of tables, of text, and of the words of a command."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from copy import deepcopy
from random import Random
from typing import Any

__all__ = ["changed_tables", "changed_text", "changed_words"]

Path = tuple[Any, ...]

NUMBERS: tuple[Any, ...] = (
    0, -1, 1, 2, 3, 65_536, 2**31, 2**63 - 1, 2**63, 10**30, 0.0, -0.0, 1e-300, 1e-9, 0.5, 1.0,
    1e9, 1e300, -1e300, math.inf, -math.inf, math.nan,
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    True, False, None, "", "n1", "nobody", "*", "[/]", "<script>alert(1)</script>", "$x$", "a.b",
    "5", "1e3", "PT1S", "\x1b[31m", "\u202eabc", "é" * 10, "x" * 300, "\n", "--", [], {}, [[]],
    [{}], {"": 1}, {"x": {"y": []}}, [1, "a", None], dt.date(2026, 1, 2),
)  # fmt: skip
NAMES = ("", "x", "n1", "rtt_ms", "rate_tps", "__class__", "class", "a.b", "é", "node", "what")
CHARACTERS = "\"'[]{}=.,#\n\t\\\x00\x1b\ufeff\ud7ff=0123456789eE-+_ é"
WORDS = (
    "", "-", "--", "0", "-1", "1", "2", "1e9", "1e300", "inf", "nan", "99999999999999999999", "5%",
    "1..9", "1..9:log", "9..1", "500ms", "-5s", "1e9d", "a=b", "=", "workload.threads", "nobody",
    "galera", "x.toml", "missing.toml", "/", "/proc/x.png", ".", "[", "{", "\x1b", "é", "p99",
    "latency_s.p95", "throughput_tps", "--json", "--help", "--seed", "--set", "--nonsense",
)  # fmt: skip


def _places(content: Any, path: Path = ()) -> list[Path]:
    """Where values stand in nested tables and lists."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(content, dict):
        inner = list(content.items())
    elif isinstance(content, list):
        inner = list(enumerate(content))
    found = [(*path, key) for key, _ in inner]
    for key, value in inner:
        found += _places(value, (*path, key))
    return found


def _at(content: Any, path: Path) -> Any:
    for key in path:
        content = content[key]
    return content


def _value(random: Random, old: Any, like: Sequence[Any]) -> Any:
    """Another value: near the old one, one of those ``like`` it, or of another kind."""
    kind = random.random()
    if isinstance(old, bool) and kind < 0.6:
        return not old
    if isinstance(old, (int, float)) and not isinstance(old, bool) and kind < 0.85:
        factor = random.choice((-1, 0, 0.01, 0.1, 0.5, 2, 3, 10, 100, 1000, 1e6))
        near = kind < 0.6 and abs(old) < 1e12
        return type(old)(old * factor) if near else random.choice(NUMBERS)
    if like and kind < 0.7:
        return random.choice(like)
    return random.choice(NUMBERS if kind < 0.8 else OTHERS)


def changed_tables(random: Random, content: Any, other: Any, *, changes: int) -> Any:
    """Nested tables with some changes; ``other`` lends parts of itself. Changes ``content``."""
    for _ in range(changes):
        places = _places(content)
        if random.random() < 0.7:  # a single value, and not a table
            places = [at for at in places if not isinstance(_at(content, at), (dict, list))]
        if not places:
            return content
        path = random.choice(places)
        holder, key = _at(content, path[:-1]), path[-1]
        old, lenders = holder[key], _places(other)
        kind = random.random()
        if kind < 0.75:
            values = (_at(tables, at) for tables in (content, other) for at in _places(tables))
            like = [one for one in values if isinstance(one, str) and isinstance(old, str)]
            holder[key] = _value(random, old, like)
        elif kind < 0.82:
            del holder[key]
        elif kind < 0.9 and isinstance(holder, dict) and lenders:
            lent = random.choice(lenders)
            name = lent[-1] if isinstance(lent[-1], str) else random.choice(NAMES)
            holder[name] = deepcopy(_at(other, lent))
        elif kind < 0.94 and isinstance(holder, dict):
            holder[random.choice(NAMES)] = random.choice((*NUMBERS, *OTHERS))
        elif isinstance(holder, list):
            holder.append(deepcopy(old))
        else:
            holder[random.choice([*holder, *NAMES])] = holder.pop(key)
    return content


def changed_text(random: Random, text: str, *, changes: int) -> str:
    """A text with characters or lines changed, doubled, swapped, or gone."""
    for _ in range(changes):
        kind = random.random()
        lines = text.split("\n")
        place = random.randrange(len(text) + 1)
        line = random.randrange(len(lines))
        if kind < 0.3:
            text = text[:place] + random.choice(CHARACTERS) + text[place + random.randrange(3) :]
        elif kind < 0.5:
            head, mark, _ = lines[line].partition(random.choice(("=", "|", "\t", ":")))
            lines[line] = head + mark + str(random.choice((*NUMBERS, *WORDS)))
            text = "\n".join(lines)
        elif kind < 0.7:
            del lines[line]
            text = "\n".join(lines)
        elif kind < 0.8:
            lines.insert(random.randrange(len(lines) + 1), lines[line])
            text = "\n".join(lines)
        elif kind < 0.9:
            text = text[:place]
        else:
            lines[line] = lines[line] * random.choice((2, 50))
            text = "\n".join(lines)
    return text


def changed_words(random: Random, words: Sequence[str], *, changes: int) -> list[str]:
    """The words of a command with some changed, doubled, swapped, or gone."""
    found = list(words)
    for _ in range(changes):
        place = random.randrange(len(found) + 1)
        kind = random.random()
        if kind < 0.35 and place < len(found):
            found[place] = random.choice(WORDS)
        elif kind < 0.5 and place < len(found):
            del found[place]
        elif kind < 0.7:
            found.insert(place, random.choice(WORDS))
        elif kind < 0.85 and place < len(found):
            found[place] = changed_text(random, found[place], changes=1)
        elif place < len(found):
            found.insert(random.randrange(len(found) + 1), found[place])
    return found
