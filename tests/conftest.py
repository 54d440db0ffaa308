"""How random cases are drawn, in all tests: the same ones on every machine and in every run."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "tests",
    derandomize=True,
    database=None,
    deadline=None,
    # How long a case takes to draw depends on what else the machine does.
    suppress_health_check=[HealthCheck.too_slow],
)
# Mutants are to be noticed, not explained (--hypothesis-profile=mutants).
settings.register_profile("mutants", settings.get_profile("tests"), phases=[Phase.generate])
settings.load_profile("tests")
