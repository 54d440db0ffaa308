"""How Sphinx turns the pages into HTML: ``make docs``.

The source is the whole repository, so that a link leads to the same file here and where the pages
are read as they lie. What Sphinx needs beyond Markdown is derived from it: contents from the lists
of an index or a topic, targets from HTML anchors.
"""

import re
from pathlib import Path

from docutils import nodes
from docutils.utils.math import toplevel_code
from docutils.utils.math.latex2mathml import tex2mathml
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

import simrep

ROOT = Path(__file__).parents[1]

project = "simrep"
author = "The simrep developers"
project_copyright = author
version = release = simrep.__version__

root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "models/packs/*.md",
    "validation/**/README.md",
    "build/notebooks/*.ipynb",
]
exclude_patterns = [".*", "build/docs", "dist", "simrep", "tests"]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # `make notebooks` executes them
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # pages load nothing from elsewhere

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "exclude-members": "__init__, __new__"}
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]
nitpick_ignore_regex = [("py:.*", ".*")]  # types of other packages: their pages are not at hand

html_theme = "furo"
html_title = "simrep"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
html_additional_pages = {"index": "start.html"}
templates_path = ["_templates"]

_UNLISTED = "---\norphan: true\n---\n\n"  # linked by pages, and in no index
_PAGE = re.compile(r"^(?:- |\| )\[([^\]]+)\]\(([^)#]+)\.(?:md|ipynb)\)", re.MULTILINE)
_NOTEBOOK = re.compile(r"\]\(((?:\.\./)*)notebooks/([\w-]+)\.py\)")
_ANCHOR = re.compile(r'^<a id="([^"]+)"></a>$', re.MULTILINE)


def contents(name: str, text: str) -> str:
    """Hidden tables of contents: one for each section that lists pages, of an index or a topic."""
    if not name.endswith("/index") and not name.startswith("docs/topics/"):
        return ""
    found = []
    for section in re.split(r"^## ", "\n" + text, flags=re.MULTILINE):
        caption = section.partition("\n")[0]
        pages = list(dict.fromkeys(f"{title} <{path}>" for title, path in _PAGE.findall(section)))
        if pages:
            options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
            found += ["", "```{toctree}", *options, "", *pages, "```"]
    return "\n".join(found)


def executed(link: re.Match[str]) -> str:
    """A link to the source of a notebook as one to what its execution left, if there is that."""
    up, name = link.groups()
    there = (ROOT / "build" / "notebooks" / f"{name}.ipynb").exists()
    return f"]({up}build/notebooks/{name}.ipynb)" if there else link[0]


def read(_: Sphinx, name: str, source: list[str]) -> None:
    """Pages as Sphinx is to see them; executed notebooks lie one folder deeper than as written."""
    if name.startswith("build/notebooks/"):
        source[0] = source[0].replace("](../", "](../../")
    else:
        text = _NOTEBOOK.sub(executed, _ANCHOR.sub(r"(\1)=", source[0]))
        source[0] = text + contents(name, text)
    if not name.startswith(("docs/", "build/notebooks/")):
        source[0] = _UNLISTED + source[0]


def formula(translator: HTML5Translator, node: nodes.Element) -> None:
    """A formula as browsers draw it by themselves."""
    code = toplevel_code(node.astext())
    translator.body.append(str(tex2mathml(code, as_block=isinstance(node, nodes.math_block))))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", read)
    app.add_lexer("csv", TextLexer)
    app.add_html_math_renderer(
        "mathml", inline_renderers=(formula, None), block_renderers=(formula, None)
    )
