"""Roles of nodes in a drill: to whom the faults of its catalogue happen."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from simrep.contract.setup import Setup
from simrep.errors import SimrepError
from simrep.workload.workload import Loop

__all__ = ["MissingRoleError", "Roles", "roles_of"]


class MissingRoleError(SimrepError):
    """The cluster has nobody in a role, so that a fault of the catalogue does not apply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Who is who in a cluster, by names of nodes.

    Attributes
    ----------
    writer : str
        The node that takes writes. Where several do: the one with the most clients (or streams of
        arrivals) that write, of equals the first.
    others : tuple of str
        All other nodes that have its data.
    quiet : tuple of str
        Of these, those on which no client writes.
    site : tuple of str
        All nodes at the site of the writer.
    away : tuple of str
        All nodes at other sites; empty if the scenario names no sites.
    relays : tuple of str
        Nodes that pass on to others of their network segment what the writer sends.
    followed : bool
        Whether another cluster follows this one.
    """

    writer: str
    others: tuple[str, ...]
    quiet: tuple[str, ...]
    site: tuple[str, ...]
    away: tuple[str, ...]
    relays: tuple[str, ...]
    followed: bool = False

    @property
    def everybody(self) -> tuple[str, ...]:
        """All nodes that have its data.

        Raises
        ------
        MissingRoleError
            If no other cluster follows them: then all is lost with them.
        """
        if not self.followed:
            raise MissingRoleError("no other cluster follows this one ([replica_cluster])")
        return (self.writer, *self.others)

    @property
    def non_writer(self) -> str:
        """The last node on which no client writes.

        Raises
        ------
        MissingRoleError
            If there is none.
        """
        self.check_others()
        if not self.quiet:
            raise MissingRoleError("clients write on all nodes")
        return self.quiet[-1]

    @property
    def other(self) -> str:
        """The last other node, whether clients write there or not.

        Raises
        ------
        MissingRoleError
            If there is none.
        """
        self.check_others()
        return self.others[-1]

    def check_others(self) -> None:
        """Raise MissingRoleError if no other server has the data."""
        if not self.others:
            raise MissingRoleError("no other server has its data")

    @property
    def whole_site(self) -> tuple[str, ...]:
        """All nodes at the site of the writer.

        Raises
        ------
        MissingRoleError
            If there is no other site.
        """
        if not self.away:
            raise MissingRoleError("the scenario names no sites (node.site), or a single one")
        return self.site

    @property
    def relay(self) -> str:
        """The first node that passes on what the writer sends.

        Raises
        ------
        MissingRoleError
            If there is none.
        """
        if not self.relays:
            raise MissingRoleError("no node relays to others of its network segment (node.segment)")
        return self.relays[0]


def roles_of(setup: Setup) -> Roles:
    """Who is who in the cluster of a setup."""
    scenario, workload = setup.scenario, setup.workload
    tables = {table.name: table for table in scenario.node_tables()}
    names = [name for name in scenario.node_names if name not in scenario.arbitrators]
    writing = {one.name for one in workload.classes if one.writes}
    load: Counter[str] = Counter()
    proxy = scenario.proxy
    routed = [] if proxy is None else list(proxy.nodes or names)  # where it sends writes
    if proxy is not None and proxy.writers == "one":
        routed = routed[:1]
    for source in workload.sources:
        if source.classes is not None and not writing.intersection(source.classes):
            continue
        placed = source.nodes if isinstance(source, Loop) else (source.node,)
        direct = source.policy is not None and source.policy.direct
        for node in placed:
            for name in [scenario.node_names[node]] if direct or not routed else routed:
                load[name] += 1
    leader = setup.model.writers(setup.options)
    writer = names[0] if leader is not None else max(names, key=lambda name: load[name])
    others = tuple(name for name in names if name != writer and not setup.model.alone)
    site = tables[writer].site
    everybody = scenario.node_names
    segments = [tables[name].segment for name in everybody]
    there = tuple(name for name in names if tables[name].site == site)
    relays = setup.model.relays(segments, everybody.index(writer))
    return Roles(
        writer=writer,
        others=others,
        quiet=others if leader is not None else tuple(n for n in others if not load[n]),
        site=there,
        away=() if site is None else tuple(name for name in names if name not in there),
        relays=tuple(everybody[relay] for relay in relays),
        followed=scenario.replica_cluster is not None,
    )
