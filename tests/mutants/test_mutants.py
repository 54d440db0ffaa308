"""The mutants of ``make mutants`` still fit the source."""

from __future__ import annotations

from pathlib import Path

from tests.mutants.run import ROOT, read

MUTANTS, AT_LEAST = read()


def test_every_mutant_fits_the_source_once_and_changes_it():
    for mutant in MUTANTS:
        assert mutant.mutated(ROOT) != (ROOT / mutant.path).read_text(encoding="utf-8")


def test_there_are_forty_and_the_tests_that_they_name_exist():
    assert len(MUTANTS) == len({(mutant.path, mutant.old, mutant.new) for mutant in MUTANTS}) == 40
    assert AT_LEAST >= 38
    named = {test for mutant in MUTANTS for test in mutant.tests}
    assert not {test for test in named if not (Path(ROOT) / test).is_file()}


def test_a_mutant_is_valid_python():
    for mutant in MUTANTS:
        compile(mutant.mutated(ROOT), mutant.path, "exec")
