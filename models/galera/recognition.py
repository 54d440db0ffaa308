"""A node of a Galera cluster, recognised by its provider."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from simrep.modelling import Clue, Evidence, ServerReading, ServerRelease
from simrep.models.mysql.recognition import MARIADB, MysqlRecognition

__all__ = ["GaleraRecognition"]

_SIZE, _ADDRESS = "wsrep_cluster_size", "wsrep_cluster_address"
_ADDRESSES = re.compile(r"gcomm://([^?]*)")
_INTERFACE = 20  # numbers above are those of the wsrep interface, before that of Galera
_STEADY = 0.25
"""Standard deviation relative to the mean up to which the network decides a latency."""
_REMARKS = {
    "wsrep_flow_control_paused": (
        1e-3,
        (
            "commits stood still for that share of the time, since appliers somewhere were "
            "behind; apply_us and apply_row_us decide it."
        ),
    ),
    "wsrep_local_recv_queue_avg": (
        1.0,
        "so many writesets waited for the appliers of this node, on average.",
    ),
    "wsrep_cert_deps_distance": (1e-9, "more appliers than that have no work."),
}
"""Counters, the value from which they are worth a remark, and the remark."""


class GaleraRecognition(MysqlRecognition):
    """A server with the wsrep interface and a provider behind it."""

    rank: ClassVar[int] = 10
    identity: ClassVar[frozenset[str]] = frozenset({_ADDRESS, "wsrep_on", "wsrep_provider"})
    not_simulated: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            **MysqlRecognition.not_simulated,
            "gmcast.segment": "segments of all nodes belong into [[node]]",
        }
    )
    packed: ClassVar[frozenset[str]] = frozenset({"wsrep_provider_options"})
    sections: ClassVar[Mapping[str, str]] = MappingProxyType(
        dict.fromkeys(("mariabackup", "xtrabackup", "sst"), "sst.")
    )
    lasting: ClassVar[tuple[str, ...]] = ("wsrep_",)
    replicated: ClassVar[tuple[str, str] | None] = ("wsrep_replicated", "wsrep_received")
    sizes: ClassVar[tuple[tuple[str, str], ...]] = (
        ("wsrep_replicated_bytes", "wsrep_replicated"),
        *MysqlRecognition.sizes,
    )

    def evidence(self, server: ServerReading) -> Evidence | None:
        """A provider, or a cluster that the server is in."""
        if server.setting("wsrep_on") is not None and server.is_on("wsrep_on") is None:
            return None
        provider, size = server.is_on("wsrep_provider"), server.status.latest(_SIZE)
        if provider is not None:
            return Evidence(provider.spelling, (provider.place,))
        return Evidence(size.name, size.places) if size is not None and size.value >= 1 else None

    def release(self, server: ServerReading) -> ServerRelease:
        """That of MariaDB or Percona XtraDB Cluster, or else of the provider."""
        comment = server.setting("version_comment")
        percona = comment is not None and "xtradb cluster" in comment.value.lower()
        if server.family == MARIADB.name:
            return super().release(server)
        if percona or server.has_names("pxc_"):
            return ServerRelease("pxc", server.release, server.release_entry)
        provider = server.setting("wsrep_provider_version")
        numbers = tuple(map(int, re.findall(r"\d+", provider.value))) if provider else ()
        # 25.3.37 is Galera 3 and 26.4.18 Galera 4; older builds say 3.9 for the former.
        numbers = numbers[1:] if numbers and numbers[0] > _INTERFACE else numbers
        return ServerRelease("galera", numbers or None, provider)

    def nodes(self, server: ServerReading) -> Clue | None:
        """Nodes that are there, or else those that are configured."""
        size, address = server.status.latest(_SIZE), server.setting(_ADDRESS)
        if size is not None and size.value >= 1:
            return Clue(int(size.value), size.places, _SIZE)
        match = _ADDRESSES.search(address.value) if address is not None else None
        hosts = [host for host in match[1].split(",") if host.strip()] if match else []
        if address is None or not hosts:
            return None
        return Clue(len(hosts), (address.place,), f"addresses in {address.spelling}")

    def round_trip_ms(self, server: ServerReading, nodes: int) -> Clue | None:
        """By ``wsrep_evs_repl_latency``, which is ``min/avg/max/stddev/n`` in seconds.

        It is the time from sending a message until it is known that all nodes have it, over the
        last ``evs.stats_report_period`` (``gcomm/src/evs_proto.cpp``, ``validate_reg_msg``). That
        is a round trip with two nodes, and with three and more three one-way delays where all are
        equal. Where the values are near to each other the network decides them, and their mean is
        taken. Else servers that were busy are in the mean, and the minimum is taken: it may be a
        third too small, since keepalives and writesets of other nodes that are on their way at
        the same time acknowledge a message earlier.
        """
        entry = server.status.after.get("wsrep_evs_repl_latency")
        try:
            parts = entry.value.split("/") if entry is not None else []
            least, mean, _, deviation, samples = map(float, parts)
        except ValueError:
            return None
        if entry is None or not (samples and least > 0.0):
            return None
        steady = deviation <= _STEADY * mean
        latency_s, which = (mean, "mean") if steady else (least, "least")
        one_way = 2 if nodes == 2 else 3
        note = (
            f"2/{one_way} of the {which} of {samples:g} values of {entry.spelling}, "
            f"{1e3 * latency_s:.3g} ms: {one_way} one-way delays with {nodes} nodes"
        )
        return Clue(2e3 / one_way * latency_s, (entry.place,), note)

    def spellings(self, option: str) -> tuple[str, ...]:
        """MariaDB 11 has provider options as variables, too: wsrep_provider_evs_send_window."""
        return ("wsrep_provider_" + option.replace(".", "_"),) if "." in option else ()

    def remarks(self, server: ServerReading) -> list[str]:
        """Appliers and conflicts as well."""
        status = server.status
        remarks = [
            f"{name} {figure.value:.3g}: {text}"
            for name, (least, text) in _REMARKS.items()
            if (figure := status.latest(name)) is not None and figure.value >= least
        ]
        replicated = status.rate("wsrep_replicated")
        conflicts = status.rate("wsrep_local_cert_failures", "wsrep_local_bf_aborts")
        if conflicts is not None and replicated is not None and replicated.value:
            remarks.append(
                f"wsrep_local_cert_failures and wsrep_local_bf_aborts: {conflicts.value:.3g} per "
                f"second, {conflicts.value / replicated.value:.2%} of the transactions; which "
                "rows are written decides it."
            )
        return remarks + super().remarks(server)
