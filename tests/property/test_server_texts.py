"""What is written in the form of a server or its client is read back as it was."""

import string

from hypothesis import given, settings
from hypothesis import strategies as st

from simrep.intake.client_tables import pairs, rows_of
from simrep.intake.option_file import options_of, read_option_file
from tests.server_files import as_batch, as_box, as_vertical

EXAMPLES = settings(max_examples=100)

_names = st.text(string.ascii_lowercase + string.digits + "_", min_size=1, max_size=12).map(
    lambda name: f"v_{name}"
)
# What a line of a client may hold: no control characters, no blanks at the ends.
_printable = st.characters(codec="ascii", min_codepoint=32, max_codepoint=126)
_values = st.text(_printable, max_size=30).map(str.strip)
_settings = st.dictionaries(_names, _values, min_size=1, max_size=8)


@EXAMPLES
@given(_settings)
def test_tables_in_all_forms(known):
    for form in (as_box, as_vertical, as_batch):
        found = pairs(rows_of(form(known), "s.txt"))
        assert {name: one.value for name, one in found.items()} == known


def quoted(value: str) -> str:
    """As the manual tells to write a value that may hold anything."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@st.composite
def lines(draw: st.DrawFn) -> tuple[list[str], dict[str, str]]:
    """Lines of a group in all spellings, and what they mean."""
    text, meaning = [], {}
    for name, value in draw(_settings).items():
        spelling = draw(st.sampled_from([name, name.replace("_", "-"), f"loose-{name}"]))
        before, after = draw(st.sampled_from(["", " ", "\t"])), draw(st.sampled_from(["", "  "]))
        comment = draw(st.sampled_from(["", "# more", ' # "quoted" it\'s']))
        text.append(f"{before}{spelling}{after}={after}{quoted(value)}{comment}")
        meaning[name] = value
    return text, meaning


@EXAMPLES
@given(lines(), st.lists(st.sampled_from(["", "# note", "; note", "[client]\nv_a=1", ""])))
def test_option_files(tmp_path_factory, written, noise):
    text, meaning = written
    file = tmp_path_factory.mktemp("cnf") / "my.cnf"
    parts = [*noise, "[mysqld]", *text, *noise]
    file.write_text("\n".join(parts), encoding="utf-8")
    found = options_of(read_option_file(file), ("mysqld",), None)
    assert {name: one.value for name, one in found.items()} == meaning
    for one in found.values():
        line = file.read_text(encoding="utf-8").splitlines()[one.place.line - 1]
        assert one.spelling in line
