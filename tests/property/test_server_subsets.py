"""Whatever a server's files leave out, what comes out is a scenario, or an error that says why."""

from hypothesis import given, settings
from hypothesis import strategies as st

from simrep.contract.setup import setup_of
from simrep.errors import ScenarioError
from simrep.scenario import load
from tests.server_files import (
    GALERA_AFTER,
    GALERA_BEFORE,
    GALERA_CNF,
    SEMISYNC_AFTER,
    SEMISYNC_BEFORE,
    described_from,
)

PAIRS = [(GALERA_BEFORE, GALERA_AFTER), (SEMISYNC_BEFORE, SEMISYNC_AFTER)]


@st.composite
def files(draw: st.DrawFn):
    """Some lines of an option file, and some counters of one or two moments, which may be still."""
    before, after = draw(st.sampled_from(PAIRS))
    left_out = draw(st.sets(st.sampled_from(sorted(after)), max_size=len(after)))
    still = draw(st.sets(st.sampled_from(sorted(after)), max_size=5)) - {"Uptime"}
    first = {name: value for name, value in before.items() if name not in left_out}
    last = {name: before[name] if name in still else after[name] for name in first}
    lines = GALERA_CNF.splitlines()
    first_group = lines.index("[mysqld]")
    kept = draw(st.sets(st.sampled_from(range(first_group + 1, len(lines)))))
    cnf = "\n".join(["[mysqld]", *(lines[number] for number in sorted(kept)), ""])
    status = [one for one in draw(st.sampled_from([(last,), (first, last), ()])) if one]
    return cnf, status


@settings(max_examples=30)
@given(files())
def test_a_scenario_or_an_error(tmp_path_factory, given_files):
    cnf, status = given_files
    try:
        described = described_from(tmp_path_factory.mktemp("server"), cnf, *status)
    except ScenarioError as refused:
        error = str(refused)
    else:
        error = ""
    if error:
        assert error.startswith("--status")
        return
    scenario = {**described.scenario, "cluster": {**described.scenario["cluster"]}}
    del scenario["cluster"]["pack"]
    setup_of(load(scenario))
    known = [one.setting for one in described.settings]
    assert len(known) == len(set(known))
    assert all(one.origin or one.note for one in described.settings)
