"""Names that mean something to Rich, HTML, XML, mathtext, matplotlib or a format string."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from io import BytesIO
from typing import Any
from xml.etree import ElementTree as ET

from matplotlib import rc_context

from tests.legible import problems

__all__ = ["HOSTILE", "assert_plain_html", "assert_plain_picture", "named_everywhere"]

HOSTILE = (
    "[/]",
    '[link=x"onmouseover="alert(1)"a="]h[/link]',
    "<script>alert(1)</script>",
    "$x_1^{",
    "_hidden",
    "a&b;<'\"",
    "]]>--><!--",
    ":smile:",
    r"\$%s{0}\n",
)

_TAGS = {"pre", "span", "table", "thead", "tbody", "tr", "th", "td", "p", "b", "strong"}
_SVG = "{http://www.w3.org/2000/svg}"
_NO_SVG = {f"{_SVG}{tag}" for tag in ("script", "a", "foreignObject")}


def named_everywhere(names: tuple[str, ...] = HOSTILE, **tables: Any) -> dict[str, Any]:
    """A scenario that gives such a name to all that may have one."""
    title, link, script, formula, hidden, html, xml, emoji, escape = names
    classes = [
        {"name": name, "rows": 3, "table": link, "keys": {"distribution": "hot", "hot_rows": 3}}
        for name in names
    ]
    content: dict[str, Any] = {
        "name": title,
        "description": link,
        "cluster": {"model": "galera", "nodes": [script, formula, hidden]},
        "node": [
            {"name": script, "host": html, "site": xml},
            {"name": formula, "host": emoji, "site": escape},
        ],
        "host": [{"name": html}, {"name": emoji}],
        "network": {"rtt_ms": 2.0, "path": [{"from": xml, "to": escape, "rtt_ms": 3.0}]},
        "workload": {
            "threads": 6,
            "nodes": [script, hidden],
            "class": classes,
            "scheduled": [
                {"name": f"{name}!", "rows": 300, "at_s": 0.02, "node": formula}
                for name in (title, hidden, formula)
            ],
        },
        "run": {"duration_s": 0.12, "interval_s": 0.01},
    }
    return content | tables


class _Page(HTMLParser):
    """What a browser would make of it."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _TAGS, tag
        for name, value in attrs:
            assert name == "style", (tag, name, value)
            assert value is not None
            assert not re.search(r"url|expression|[<>\"&]", value)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def assert_plain_html(page: str) -> str:
    """Nothing but text in a few kinds of tags; gives the text."""
    reader = _Page()
    reader.feed(page)
    reader.close()
    return "".join(reader.words)


def assert_plain_picture(figure: Any) -> str:
    """It can be drawn as PNG and as SVG, which is XML without scripts; gives the words in it.

    It can be read, too.
    """
    assert not problems(figure), problems(figure)
    png, svg = BytesIO(), BytesIO()
    figure.savefig(png, format="png", dpi=40)
    with rc_context({"svg.fonttype": "none"}):
        figure.savefig(svg, format="svg")
    tree = ET.fromstring(svg.getvalue())
    for element in tree.iter():
        assert element.tag not in _NO_SVG
        for name, value in element.attrib.items():
            attribute = name.rpartition("}")[2]
            assert not attribute.startswith("on")
            assert attribute != "href" or value.startswith(("#", "data:image/png;"))
    words = [text for element in tree.iter(f"{_SVG}text") for text in element.itertext()]
    assert not any("mathdefault" in text for text in words)
    return "\n".join(words)
