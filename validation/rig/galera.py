"""Galera Cluster: MariaDB, or Percona XtraDB Cluster."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from simrep.rig.engine import Engine, Health, Host, Option
from simrep.rig.errors import RigError
from simrep.rig.server import Server, ServerProgram, initialise_all, option_arguments
from simrep.rig.servers import Servers, await_condition

__all__ = ["Galera", "GaleraCluster", "galera_arguments", "galera_problems"]

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
SAME_EVERYWHERE = ("wsrep_cluster_state_uuid", "wsrep_cluster_conf_id")
EXPECTED = {
    "wsrep_cluster_status": "Primary",
    "wsrep_local_state_comment": "Synced",
    "wsrep_connected": "ON",
    "wsrep_ready": "ON",
}


class GaleraCluster(Servers):
    """Nodes of one primary component."""

    system = "galera"
    product_counters = ("wsrep_",)

    def replication_health(self) -> Health:
        """Whether all are synced members of the same view."""
        facts = {server.name: server.status("wsrep%") for server in self.nodes}
        kept = (*EXPECTED, *SAME_EVERYWHERE, "wsrep_cluster_size")
        return Health(
            galera_problems(facts),
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

    def description(self) -> dict[str, Any]:
        """With the version of the provider."""
        status = self.nodes[0].status("wsrep_provider_version")
        return super().description() | {"provider": status.get("wsrep_provider_version", "")}


class Galera:
    """Forms a Galera cluster: the first node founds it, the others take its state in turn."""

    def __init__(self, program: ServerProgram) -> None:
        self._program = program

    def form(self, engine: Engine, options: Mapping[str, Option], logs: Path) -> GaleraCluster:
        """Start a node on every host."""
        hosts = engine.hosts
        provider = _provider(hosts[0])
        transfer = _state_transfer(hosts[0], self._program)
        addresses = [host.address for host in hosts]
        servers = [
            Server(
                host,
                self._program,
                number,
                galera_arguments(host.name, host.address, addresses, provider, transfer, options),
                logs / f"{host.name}.log",
            )
            for number, host in enumerate(hosts, 1)
        ]
        cluster = GaleraCluster(servers)
        try:
            initialise_all(servers)
            for joined, server in enumerate(servers, 1):
                server.start(*(["--wsrep-new-cluster"] if joined == 1 else []))
                await_condition(
                    f"{server.name} synced in a cluster of {joined}",
                    partial(_synced, server, joined),
                    JOIN_S,
                )
                if joined == 1 and TRANSFER_LOGIN in transfer:
                    server.query(*TRANSFER_USER)
            time.sleep(0.5)  # the last change of the view reaches everybody
            cluster.check_options(options)
        except BaseException:
            for server in servers:
                _keep_transfer_logs(server, logs)
            cluster.stop()
            raise
        return cluster


def galera_arguments(
    name: str,
    address: str,
    addresses: list[str],
    provider: str,
    state_transfer: list[str],
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


def galera_problems(facts: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """What is wrong with a cluster whose nodes say this."""
    problems = []
    for name, status in facts.items():
        for key, wanted in {**EXPECTED, "wsrep_cluster_size": str(len(facts))}.items():
            found = status.get(key, "nothing")
            if found != wanted:
                problems.append(f"{name}: {key} is {found}, not {wanted}")
    differing = [
        key for key in SAME_EVERYWHERE if len({status.get(key) for status in facts.values()}) > 1
    ]
    return (*problems, *(f"nodes differ in {key}" for key in differing))


def _keep_transfer_logs(server: Server, logs: Path) -> None:
    """What a transfer by a backup said, before the data are deleted."""
    with suppress(RigError):
        told = server.host.run(["sh", "-c", f"tail -n 40 {server.host.inside}/data/*backup*.log"])
        (logs / f"{server.name}.transfer.log").write_text(told, encoding="utf-8")


def _synced(server: Server, size: int) -> bool:
    status = server.status("wsrep%")
    return status.get("wsrep_local_state_comment") == "Synced" and status.get(
        "wsrep_cluster_size"
    ) == str(size)


def _provider(host: Host) -> str:
    found = host.run(["sh", "-c", f"ls {' '.join(PROVIDERS)} 2>/dev/null || true"]).split()
    if not found:
        raise RigError("no Galera provider (libgalera_smm.so) where the servers are: install it")
    return found[0]


def _state_transfer(host: Host, program: ServerProgram) -> list[str]:
    if program.name == "percona":
        return ["--wsrep-sst-method=xtrabackup-v2"]
    if host.run(["sh", "-c", "command -v rsync || true"]).strip():
        return ["--wsrep-sst-method=rsync"]
    return ["--wsrep-sst-method=mariabackup", TRANSFER_LOGIN]
