"""Random valid scenarios of every model, and what must hold of each of them."""

from __future__ import annotations

import traceback
import warnings

from simrep.contract.setup import Setup, setup_of
from simrep.errors import SimrepError
from simrep.runs.replication import with_run_settings
from simrep.scenario import load
from simrep.testing import (
    check_conservation,
    check_determinism,
    check_floor,
    check_little,
    check_nodes,
    check_stages,
)
from tests.fuzz.scenarios import MODELS, drawn

__all__ = ["MODELS", "outcome"]


def outcome(model: str, number: int) -> str:
    """``ok``, ``refused``, or the traceback of what does not hold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _check(model, number)
        except SimrepError:
            return "refused"
        except Exception:  # noqa: BLE001 - whatever it is, it is a fault
            return traceback.format_exc()
    return "ok"


def _check(model: str, number: int) -> None:
    scenario = load(drawn(model, number))
    setup = with_run_settings(setup_of(scenario), {"log": True, "warmup": None, "warmup_s": 0.0})
    replication = check_determinism(setup, scenario.run.seed)
    check_conservation(replication.traffic)
    check_stages(replication.measurement)
    check_nodes(replication.measurement)
    check_little(setup, replication.measurement)
    others = _acknowledged_by(model, setup)
    if others:
        check_floor(setup, replication.measurement, others)


def _acknowledged_by(model: str, setup: Setup) -> int:
    """How many other nodes have answered before a commit, whatever else happens."""
    size = len(setup.placement)
    if setup.noticed:
        return 0
    if model == "galera":
        return size - 1
    if model == "group_replication":
        return size // 2
    options = setup.options
    patient = model == "semisync" and options.enabled and options.timeout >= 10_000
    if patient and options.wait_no_replica and options.wait_for_replica_count < size:
        return int(options.wait_for_replica_count)
    return 0
