"""Galera Cluster: MariaDB, or Percona XtraDB Cluster."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from simrep.rig.cluster import Health, RigCluster, await_condition, unequal
from simrep.rig.engine import RigHost
from simrep.rig.errors import RigError
from simrep.rig.server import Option, RigServer, option_arguments

__all__ = ["GaleraCluster", "galera_arguments", "galera_problems"]

PROVIDERS = (
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib64/galera4/libgalera_smm.so",
    "/usr/lib/galera4/libgalera_smm.so",
)
JOIN_S = 120.0
TRANSFER_LOGIN = "--wsrep-sst-auth=transfer:transfer"
TRANSFER_USER = (
    "create user transfer@localhost identified by 'transfer'",
    "grant all on *.* to transfer@localhost",
)
_RECOVERED = re.compile(r"Recovered position:?\s*([0-9a-f-]+:-?\d+)")
SAME_EVERYWHERE = ("wsrep_cluster_state_uuid", "wsrep_cluster_conf_id")
EXPECTED = {
    "wsrep_cluster_status": "Primary",
    "wsrep_local_state_comment": "Synced",
    "wsrep_connected": "ON",
    "wsrep_ready": "ON",
}


class GaleraCluster(RigCluster):
    """Nodes of one primary component: the first founds it, the others take its state in turn."""

    system = "galera"
    product_counters = ("wsrep_",)
    transfer_logs = "*backup*.log"
    _provider = ""
    _transfer: tuple[str, ...] = ()

    def arguments(self, host: RigHost) -> list[str]:
        """What the first host has decides on the provider and the transfer of state."""
        first = self.hosts[0]
        if not self._provider:
            self._provider = _provider(first)
            self._transfer = _state_transfer(first, self.program.name)
            method = str(self.options.get("wsrep_sst_method", ""))
            if method.startswith(("mariabackup", "xtrabackup")):
                self._transfer = (TRANSFER_LOGIN,)  # the method is an option as others are
        addresses = [other.address for other in self.hosts]
        return galera_arguments(
            host.name,
            host.address,
            addresses,
            self._provider,
            self._transfer,
            self.options_of(host),
        )

    def join(self) -> None:
        """Start a node on every host, one after the other."""
        for joined, server in enumerate(self.nodes, 1):
            server.start(*(["--wsrep-new-cluster"] if joined == 1 else []))
            await_condition(
                f"{server.name} synced in a cluster of {joined}",
                partial(_synced, server, joined),
                JOIN_S,
            )
            if joined == 1 and TRANSFER_LOGIN in self._transfer:
                server.query(*TRANSFER_USER)
        for joined, arbitrator in enumerate(self.arbitrators, len(self.nodes) + 1):
            arbitrator.host.launch(self._arbitrate(arbitrator.host), arbitrator.log)
            await_condition(
                f"{arbitrator.name} in a cluster of {joined}",
                partial(_synced, self.nodes[0], joined),
                JOIN_S,
            )
        time.sleep(0.5)  # the last change of the view reaches everybody

    def _arbitrate(self, host: RigHost) -> list[str]:
        """The command line of garbd, with the provider's options that nodes have as well."""
        addresses = ",".join(other.address for other in self.hosts)
        own = {name: value for name, value in self.options_of(host).items() if "." in name}
        texts = [argument[2:] for argument in option_arguments(own)]
        texts = [text for text in texts if not text.startswith("gcache.")]
        more = ["--options", ";".join(texts)] if texts else []
        return ["garbd", "--group", "simrep", "--address", f"gcomm://{addresses}", *more]

    def replication_health(self) -> Health:
        """Whether all are synced members of the same view."""
        facts = {server.name: server.status("wsrep%") for server in self.nodes}
        kept = (*EXPECTED, *SAME_EVERYWHERE, "wsrep_cluster_size")
        return Health(
            galera_problems(facts, len(self.members)),
            {name: {key: status.get(key, "") for key in kept} for name, status in facts.items()},
        )

    def level(self, timeout_s: float) -> bool:
        """Whether all nodes come to the same transaction with nothing left to apply."""

        def equal() -> bool:
            states = [server.status("wsrep%") for server in self.nodes]
            last = {state.get("wsrep_last_committed") for state in states}
            return len(last) == 1 and all(
                state.get("wsrep_local_recv_queue") == "0" for state in states
            )

        try:
            await_condition("equal commits", equal, timeout_s)
        except RigError:
            return False
        return True

    def rejoin(self, server: RigServer) -> None:
        """Start a node as its service does: what it has comes first, then from where it goes on."""
        found = _RECOVERED.findall(server.print_of("--wsrep-recover"))
        server.start(*([f"--wsrep-start-position={found[-1]}"] if found else []))

    def description(self) -> dict[str, Any]:
        """With the version of the provider."""
        status = self.nodes[0].status("wsrep_provider_version")
        return super().description() | {"provider": status.get("wsrep_provider_version", "")}


def galera_arguments(
    name: str,
    address: str,
    addresses: list[str],
    provider: str,
    state_transfer: tuple[str, ...],
    options: Mapping[str, Option],
) -> list[str]:
    """Arguments of one node; options with a dot, such as evs.send_window, are the provider's."""
    of_provider = {key: value for key, value in options.items() if "." in key}
    of_server = {key: value for key, value in options.items() if "." not in key}
    given = str(of_server.pop("wsrep_provider_options", ""))
    texts = [part.strip() for part in given.split(";") if part.strip()]
    texts += [argument[2:] for argument in option_arguments(of_provider)]
    arguments = [
        *("--binlog-format=ROW", "--default-storage-engine=InnoDB", "--innodb-autoinc-lock-mode=2"),
        *("--wsrep-on=ON", f"--wsrep-provider={provider}", "--wsrep-cluster-name=simrep"),
        f"--wsrep-cluster-address=gcomm://{','.join(addresses)}",
        *(f"--wsrep-node-address={address}", f"--wsrep-node-name={name}", *state_transfer),
        *option_arguments(of_server),
    ]
    if texts:
        arguments.append(f"--wsrep-provider-options={';'.join(texts)}")
    return arguments


def galera_problems(
    facts: Mapping[str, Mapping[str, str]], members: int | None = None
) -> tuple[str, ...]:
    """What is wrong with a cluster whose nodes say this; with arbitrators it has more members."""
    wanted = {**EXPECTED, "wsrep_cluster_size": str(members or len(facts))}
    differing = [
        key for key in SAME_EVERYWHERE if len({status.get(key) for status in facts.values()}) > 1
    ]
    return (
        *(f"{n}: {problem}" for n, status in facts.items() for problem in unequal(status, wanted)),
        *(f"nodes differ in {key}" for key in differing),
    )


def _synced(server: RigServer, size: int) -> bool:
    status = server.status("wsrep%")
    wanted = {"wsrep_local_state_comment": "Synced", "wsrep_cluster_size": str(size)}
    return not unequal(status, wanted)


def _provider(host: RigHost) -> str:
    found = host.run(["sh", "-c", f"ls {' '.join(PROVIDERS)} 2>/dev/null || true"]).split()
    if not found:
        raise RigError("no Galera provider (libgalera_smm.so) where the servers are: install it")
    return found[0]


def _state_transfer(host: RigHost, program: str) -> tuple[str, ...]:
    if program == "percona":
        return ("--wsrep-sst-method=xtrabackup-v2",)
    if host.run(["sh", "-c", "command -v rsync || true"]).strip():
        return ("--wsrep-sst-method=rsync",)
    return ("--wsrep-sst-method=mariabackup", TRANSFER_LOGIN)
