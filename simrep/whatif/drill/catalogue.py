"""The catalogue of faults that a drill plays, by the roles of the nodes that they happen to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, isinf
from typing import Any

from simrep.errors import ScenarioError, nearest
from simrep.scenario.faults import LINKS
from simrep.whatif.drill.roles import Roles

__all__ = ["CATALOGUE", "DrillFault", "chosen_faults"]

_KILLED_S = 30.0
"""An ended process is started again after so long: by then all products have failed over from a
process that is dead. (MariaDB's unit of systemd starts it after 5 s, mysqld_safe at once: a crash
that is over before anybody acts is another drill, ``restart_s``.)"""
_BOOT_S = 90.0
"""A machine without power is back after so long: by then managers have replaced one that is silent,
which takes 65 to 75 s where they wait for replicas that give up after 60 s."""
_LASTS_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillFault:
    """One fault of the catalogue.

    Attributes
    ----------
    name : str
        ``kill writer``.
    said : str
        What happens, in a sentence without a full stop.
    role : str
        Of the node that it happens to: an attribute of ``Roles``; ``donor`` for the server that
        gives its state to another one.
    what : str
        Its word in ``[[fault]]``.
    lasts_s : float
        How long one goes on; 0 of what happens in an instant.
    back_s : float
        After so long a server that has ended is started again; infinite: never.
    times : int
        How often it comes, with pauses as long as itself.
    keys : mapping of str to value
        Further keys of its table.
    """

    name: str
    said: str
    role: str
    what: str
    lasts_s: float = 0.0
    back_s: float = 0.0
    times: int = 1
    keys: dict[str, Any] = field(default_factory=dict)

    def struck(self, roles: Roles) -> tuple[str, ...]:
        """Names of the nodes that it happens to.

        Raises
        ------
        MissingRoleError
            If the cluster has nobody in the role.
        """
        if self.what in LINKS:
            roles.check_others()
        if self.role == "donor":  # it is known when a server has asked for a state
            return (roles.non_writer,)
        role = getattr(roles, self.role)
        return (role,) if isinstance(role, str) else role

    def tables(self, roles: Roles, at_s: float, restart_s: float | None) -> list[dict[str, Any]]:
        """The tables ``[[fault]]`` of a run in which it begins at a time.

        Parameters
        ----------
        roles : Roles
        at_s : float
            In simulated seconds.
        restart_s : float, optional
            After so long servers that have ended are started again, instead of ``back_s``.

        Raises
        ------
        MissingRoleError
            If the cluster has nobody in the role.
        """
        struck = self.struck(roles)
        place: dict[str, Any] = {"node": struck[0]} if len(struck) == 1 else {"nodes": struck}
        if self.role == "whole_site":
            place["others"] = roles.away
        if self.name == "flapping link":
            place["others"] = (roles.other,)
        if not self.lasts_s:
            if isinf(self.back_s):
                return [{"what": self.what, "at_s": at_s, "node": name} for name in struck]
            back_s = self.back_s if restart_s is None else restart_s
            return [
                {"what": self.what, "at_s": at_s, **place},
                {"what": "restart", "at_s": at_s + back_s, **place},
            ]
        begins = [at_s + 2.0 * turn * self.lasts_s for turn in range(self.times)]
        return [
            {"what": self.what, "at_s": begin_s, "until_s": begin_s + self.lasts_s}
            | self.keys
            | place
            for begin_s in begins
        ]


def _killed(name: str, role: str, said: str) -> DrillFault:
    return DrillFault(name=name, said=said, role=role, what="kill", back_s=_KILLED_S)


def _power(name: str, role: str, said: str) -> DrillFault:
    return DrillFault(name=name, said=said, role=role, what="power-loss", back_s=_BOOT_S)


def _lasting(
    name: str, role: str, what: str, said: str, lasts_s: float = _LASTS_S, **more: Any
) -> DrillFault:
    return DrillFault(name=name, said=said, role=role, what=what, lasts_s=lasts_s, **more)


_SLOW = {"fsync_factor": 20.0}

CATALOGUE: tuple[DrillFault, ...] = (
    _killed(
        "kill writer", "writer", "the process of the writer dies, and starts again after 30 s"
    ),
    _killed(
        "kill non-writer", "non_writer",
        "the process of a non-writer dies, and starts again after 30 s",
    ),
    _power(
        "power loss writer", "writer",
        "the machine of the writer falls silent, and is back after 90 s",
    ),
    _power(
        "power loss non-writer", "non_writer",
        "the machine of a non-writer falls silent, and is back after 90 s",
    ),
    _lasting(
        "pause writer 5 s", "writer", "pause", "the writer is stopped for 5 s (SIGSTOP)", 5.0
    ),
    _lasting("pause writer 30 s", "writer", "pause", "the writer is stopped for 30 s"),
    _lasting("pause non-writer 30 s", "non_writer", "pause", "a non-writer is stopped for 30 s"),
    _lasting(
        "cut writer", "writer", "cut",
        "nothing gets through between the writer and other servers for 30 s; its clients reach it",
    ),
    _lasting(
        "cut non-writer", "non_writer", "cut",
        "nothing gets through between a non-writer and other servers for 30 s",
    ),
    _lasting(
        "one-way cut writer", "writer", "cut",
        "for 30 s all messages from the writer to other servers are lost",
        keys={"direction": "out"},
    ),
    _lasting(
        "cut site of writer", "whole_site", "cut",
        "the site of the writer is cut off from other sites for 30 s",
    ),
    _lasting(
        "flapping link", "writer", "cut",
        "a link of the writer is cut three times for 3 s, with 3 s in between", 3.0, times=3,
    ),
    _lasting(
        "slow disk writer", "writer", "slow",
        "an fsync of the writer takes 20 times as long for 30 s", keys=_SLOW,
    ),
    _lasting(
        "slow disk non-writer", "non_writer", "slow",
        "an fsync of a non-writer takes 20 times as long for 30 s", keys=_SLOW,
    ),
    _lasting(
        "disk stall writer", "writer", "disk-stall", "no fsync of the writer returns for 30 s"
    ),
    _killed(
        "kill donor", "donor",
        "a non-writer dies and starts again after 30 s; its donor dies during the transfer",
    ),
    _killed(
        "kill relay", "relay",
        "the server dies that relays messages of the writer in another network segment",
    ),
    DrillFault(
        name="lose all nodes", role="everybody", what="power-loss", back_s=inf,
        said="all machines fall silent for good; only the following cluster ([replica_cluster]) "
        "remains",
    ),
)  # fmt: skip


def chosen_faults(names: Sequence[str] | None) -> tuple[DrillFault, ...]:
    """Those of the catalogue with these names, in its order; all without names.

    Raises
    ------
    ScenarioError
        If there is no such fault, or one is named twice.
    """
    if names is None:
        return CATALOGUE
    known = {fault.name: fault for fault in CATALOGUE}
    if not names:
        raise ScenarioError("faults", "names no fault", "simrep drill --list shows the catalogue")
    for position, name in enumerate(names):
        if name not in known:
            hint = f"{nearest(name, known)}; simrep drill --list shows all"
            raise ScenarioError("faults", f"no fault {name!r} in the catalogue", hint)
        if name in names[:position]:
            raise ScenarioError("faults", f"{name!r} is there twice", "name it once")
    return tuple(fault for fault in CATALOGUE if fault.name in names)
