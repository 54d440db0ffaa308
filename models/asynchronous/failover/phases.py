"""What a failover consists of, from what its manager and the servers noted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simrep.modelling import Noted, StallPhase

from .presets import ManagerRules, rules_of

if TYPE_CHECKING:
    from simrep.models.asynchronous.options import AsynchronousOptions

__all__ = ["failover_phases"]

_LEAST_S = 0.005  # what is shorter is told with what follows it


def failover_phases(
    noted: Sequence[Noted],
    names: Sequence[str],
    options: AsynchronousOptions,
    from_s: float,
    until_s: float,
) -> list[StallPhase]:
    """The phases of the first failover in a stall; see ``Model.stall_phases``."""
    rules = rules_of(options)
    if rules is None:
        return []
    own = [line for line in noted if from_s <= line.at_s <= until_s]
    decision = next((line for line in own if line.what == "manager-decides"), None)
    if decision is None:
        return []
    return _Failover(own, names, rules, decision, from_s, until_s).phases()


@dataclass(frozen=True, slots=True)
class _Failover:
    """One failover with the lines of its stall."""

    lines: Sequence[Noted]
    names: Sequence[str]
    rules: ManagerRules
    decision: Noted
    from_s: float
    until_s: float

    def phases(self) -> list[StallPhase]:
        """One after the other; those that took hardly any time are left out."""
        rules, tool = self.rules, self.rules.name
        new = self.names[self.decision.of[0]]
        steps = []
        suspicion = self._before("suspect")
        if suspicion is not None:
            old = self.names[suspicion.of[0]]
            poll = f"{tool} polls every {rules.poll_s:g} s (manager_poll_s): {suspicion.how}"
            steps.append((suspicion.at_s, "until a poll fails", poll))
            gone = self._before("manager-takes-for-gone")
            if gone is not None:
                more = f"manager_failures = {rules.failures}"
                steps.append((gone.at_s, "more polls of it fail", more))
            hooks_s = self.decision.at_s - rules.hooks_s
            steps.append((hooks_s, "replicas are asked", self._asked(old)))
        steps.append((self.decision.at_s, "hooks", "manager_hooks_s"))
        drained = self._after("manager-drained") or self._after("manager-gives-up")
        if drained is not None:
            steps.append((drained.at_s, "relay log", f"{new} applies what it has received"))
        promoted = self._after("promoted")
        if promoted is not None:
            steps.append((promoted.at_s, "promotion", f"RESET REPLICA, read_only = OFF on {new}"))
            steps.append((self.until_s, "clients", f"they turn to {new}"))
        phases, at_s = [], self.from_s
        for end_s, name, why in steps:
            if end_s > at_s + _LEAST_S:
                phases.append(StallPhase(name, end_s - at_s, why))
                at_s = end_s
        return phases

    def _before(self, what: str) -> Noted | None:
        """The first such line of the manager since it last heard from the source."""
        own = [line for line in self.lines if line.actor and line.at_s <= self.decision.at_s]
        heard_s = max((line.at_s for line in own if line.what == "manager-hears"), default=-1.0)
        return next((line for line in own if line.what == what and line.at_s > heard_s), None)

    def _after(self, what: str) -> Noted | None:
        return next(
            (line for line in self.lines if line.what == what and line.at_s >= self.decision.at_s),
            None,
        )

    def _asked(self, old: str) -> str:
        waits = [line.how for line in self.lines if line.what == "manager-waits"]
        if waits:
            return "; then ".join(dict.fromkeys(waits))
        return {
            "io-threads": f"until no IO thread is connected to {old}: twice, "
            f"{self.rules.recheck_s:g} s apart (manager_recheck_s)",
            "heartbeats": f"{self.rules.verify_s:g} s for each (manager_verify_s)",
        }.get(self.rules.asks, "")
