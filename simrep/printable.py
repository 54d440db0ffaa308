"""Texts that others gave, as they may be shown: they command no terminal, no XML and no reader."""

from __future__ import annotations

import re

__all__ = ["printable", "shorten", "shortened", "unprintable"]

# By number and not by category: which characters have one changes with the version of Python.
_UNPRINTABLE = re.compile(
    "["
    "\x00-\x09\x0b-\x1f\x7f-\x9f"  # of a terminal, and not in XML; a new line is neither
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # they change the direction of the text around
    "\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"  # nobody sees them
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e007f"  # no characters
    "]"
)


def printable(text: str) -> str:
    r"""The same with escapes in the place of what cannot be shown; new lines stay.

    >>> print(printable("n1\x1b[2J"))
    n1\x1b[2J
    """
    return _UNPRINTABLE.sub(_escape, text)


def unprintable(text: str) -> str:
    r"""The first character that cannot be shown, as an escape; empty if there is none.

    >>> print(unprintable("n\u202e1"))
    \u202e
    """
    match = _UNPRINTABLE.search(text)
    return "" if match is None else _escape(match)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def shortened(text: str, most: int) -> str:
    """Every line in at most about so many characters: a longer one loses its middle.

    >>> shortened("given '" + "x" * 200_000 + "'", 30)
    "given 'xxxxxxxxxxxxx ... (199,978 more) ... xxxxxxxxx'"
    """
    if len(text) <= most:
        return text
    return "\n".join(_without_middle(line, most) for line in text.split("\n"))


def _without_middle(line: str, most: int) -> str:
    left = len(line) - most
    if left <= 0:
        return line
    end = most // 3
    return f"{line[: most - end]} ... ({left:,} more) ... {line[-end:]}"


def shorten(text: str, longest: int = 44) -> str:
    """The begin and the end of a text that is too long for its place.

    >>> shorten("abcdefghij", 7)
    'abc…hij'
    """
    if len(text) <= longest:
        return text
    half = (longest - 1) // 2
    return f"{text[: longest - 1 - half]}…{text[-half:]}"
