"""Which product a server is: the model that stands for it, its version and its nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from simrep.contract.card import package_of
from simrep.contract.model import find_model
from simrep.errors import ScenarioError
from simrep.intake.given import Findings, Given, Place
from simrep.intake.read import Server
from simrep.scenario.options import versions

__all__ = ["Product", "product_of"]

_DIGITS = re.compile(r"\d+")
_ADDRESSES = re.compile(r"gcomm://([^?]*)")
_MOST_NODES = 64
_INTERFACE = 20  # numbers above are those of the wsrep interface, before that of Galera
_DEFAULT_NODES = {"galera": 3, "group_replication": 3, "semisync": 2, "asynchronous": 2}
_SEMISYNC = ("rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled")
_SEMISYNC_STATUS = ("rpl_semi_sync_source_status", "rpl_semi_sync_master_status")
_SEMISYNC_CLIENTS = ("rpl_semi_sync_source_clients", "rpl_semi_sync_master_clients")
_CONNECTED = "slaves_connected"


@dataclass(frozen=True, slots=True)
class Product:
    """What is simulated.

    Attributes
    ----------
    model : str
    version : str or None
        Of those that the model knows; None where it is to be the newest.
    nodes : int
    """

    model: str
    version: str | None
    nodes: int


def product_of(
    server: Server, found: Findings, *, model: str | None = None, nodes: int | None = None
) -> Product:
    """Find out model, version and number of nodes.

    Parameters
    ----------
    server : Server
    found : Findings
        Told what was read and what was not.
    model, nodes : optional
        Instead of what the files say.
    """
    if model is not None:
        find_model(model, "--model")
        found.told("cluster.model", model, "--model")
    else:
        model = _model(server, found)
    version = _version(server, model, found)
    if nodes is not None:
        found.told("cluster.nodes", nodes, "--nodes")
    elif model == "standalone":
        nodes = 1
    else:
        nodes = _nodes(server, model, found)
    return Product(model, version, nodes)


# -- model ---------------------------------------------------------------------------------------


def _model(server: Server, found: Findings) -> str:
    tests: tuple[tuple[str, Callable[[Server], tuple[Given | Place, str] | None]], ...] = (
        ("galera", _galera),
        ("group_replication", _group_replication),
        ("semisync", _semisync),
        ("asynchronous", _asynchronous),
    )
    for name, test in tests:
        evidence = test(server)
        if evidence is not None:
            given, note = evidence
            place = given.place if isinstance(given, Given) else given
            found.read("cluster.model", name, [place], note)
            return name
    return str(
        found.default(
            "cluster.model",
            "standalone",
            "no sign of Galera, group replication or a replica; --model names another",
        )
    )


def _galera(server: Server) -> tuple[Given, str] | None:
    on = server.setting("wsrep_on")
    if on is not None and server.is_on("wsrep_on") is None:
        return None
    provider = server.is_on("wsrep_provider")
    if provider is not None:
        return provider, provider.spelling
    size = server.status.latest("wsrep_cluster_size")
    if size is not None and size.value >= 1:
        given = server.status.after["wsrep_cluster_size"]
        return given, given.spelling
    return None


def _group_replication(server: Server) -> tuple[Given | Place, str] | None:
    name = server.is_on("group_replication_group_name")
    if name is not None:
        return name, name.spelling
    members = _members(server)
    return (members[0], "replication_group_members") if members else None


def _semisync(server: Server) -> tuple[Given, str] | None:
    status = server.setting(*_SEMISYNC_STATUS)
    enabled = server.is_on(*_SEMISYNC)
    if enabled is not None and status is not None and server.is_on(*_SEMISYNC_STATUS) is None:
        return enabled, f"{enabled.spelling}; {status.spelling} was {status.value} then"
    given = server.is_on(*_SEMISYNC_STATUS) or enabled
    return None if given is None else (given, given.spelling)


def _asynchronous(server: Server) -> tuple[Given | Place, str] | None:
    log = server.setting("log_bin")
    if log is not None and server.is_on("log_bin") is None and log.value:
        return None
    figure = server.status.latest(_CONNECTED)
    if figure is not None and figure.value > 0:
        given = server.status.after[_CONNECTED]
        return given, given.spelling
    replicas = _replicas(server)
    return (replicas[0], "a replica reads its binary log") if replicas else None


def _members(server: Server) -> list[Place]:
    """Rows of performance_schema.replication_group_members that are in the group."""
    return [
        row.place
        for row in server.rows
        if "member_state" in row.cells and row.cells["member_state"] in {"ONLINE", "RECOVERING"}
    ]


def _replicas(server: Server) -> list[Place]:
    """Rows of SHOW REPLICAS (SHOW SLAVE HOSTS), or dump threads of SHOW PROCESSLIST."""
    registered = [
        row.place
        for row in server.rows
        if "server_id" in row.cells and row.cells.keys() & {"source_id", "master_id"}
    ]
    dumps = [
        row.place for row in server.rows if row.cells.get("command", "").startswith("Binlog Dump")
    ]
    return registered or dumps


# -- version -------------------------------------------------------------------------------------


def _version(server: Server, model: str, found: Findings) -> str | None:
    """The newest version known to the model that is not newer than the server's."""
    known = list(versions(package_of(find_model(model)), model))
    family, given, release = _family(server, model)
    own = [name for name in known if name.startswith(f"{family}-")]
    if not own:
        found.default("cluster.version", None, f"the model's newest: it knows no {family}")
        return None
    own.sort(key=_digits)
    if release is None:
        why = "no version in the files: --variables or --server-version tell it"
        return str(found.default("cluster.version", own[-1], why))
    older = [name for name in own if _digits(name) <= release]
    # Releases within a series count up from their first: 8.0 is before 8.0.36.
    chosen = older[-1] if older else own[0]
    text = ".".join(map(str, release))
    note = f"of {text}; the model knows {', '.join(own)}"
    if given is None:
        return str(found.told("cluster.version", chosen, "--server-version"))
    return str(found.read("cluster.version", chosen, [given.place], note))


def _family(server: Server, model: str) -> tuple[str, Given | None, tuple[int, ...] | None]:
    """What versions of the product are called, and which one the server has."""
    if server.mariadb:
        if model == "group_replication":
            raise ScenarioError("--model", "MariaDB has no group replication")
        return "mariadb", server.release_given, server.release
    comment = server.setting("version_comment")
    percona = comment is not None and "xtradb cluster" in comment.value.lower()
    if model == "galera" and (percona or server.has_names("pxc_")):
        return "pxc", server.release_given, server.release
    if model == "galera":
        provider = server.setting("wsrep_provider_version")
        numbers = _digits(provider.value) if provider is not None else ()
        # 25.3.37 is Galera 3 and 26.4.18 Galera 4; older builds say 3.9 for the former.
        release = numbers[1:] if numbers and numbers[0] > _INTERFACE else numbers
        return "galera", provider, release or None
    return "mysql", server.release_given, server.release


def _digits(text: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in _DIGITS.findall(text))


# -- nodes ---------------------------------------------------------------------------------------


def _nodes(server: Server, model: str, found: Findings) -> int:
    counted = {
        "galera": _galera_nodes,
        "group_replication": _group_nodes,
        "semisync": _replica_nodes,
        "asynchronous": _replica_nodes,
    }.get(model)
    figure = counted(server) if counted is not None else None
    if figure is not None:
        count, places, note = figure
        if not 1 <= count <= _MOST_NODES:
            raise ScenarioError("--nodes", f"{note} gives {count} nodes", "name their number")
        return int(found.read("cluster.nodes", count, places, note))
    return int(
        found.default(
            "cluster.nodes", _DEFAULT_NODES.get(model, 3), "not in the files; --nodes names it"
        )
    )


def _galera_nodes(server: Server) -> tuple[int, Iterable[Place], str] | None:
    size = server.status.latest("wsrep_cluster_size")
    if size is not None and size.value >= 1:
        return int(size.value), size.places, "wsrep_cluster_size"
    address = server.setting("wsrep_cluster_address")
    match = _ADDRESSES.search(address.value) if address is not None else None
    hosts = [host for host in match[1].split(",") if host.strip()] if match else []
    if address is not None and hosts:
        return len(hosts), [address.place], f"addresses in {address.spelling}"
    return None


def _group_nodes(server: Server) -> tuple[int, Iterable[Place], str] | None:
    members = _members(server)
    if members:
        return len(members), members, "rows of replication_group_members"
    seeds = server.is_on("group_replication_group_seeds")
    if seeds is not None:
        hosts = [host for host in seeds.value.split(",") if host.strip()]
        return len(hosts), [seeds.place], f"addresses in {seeds.spelling}"
    return None


def _replica_nodes(server: Server) -> tuple[int, Iterable[Place], str] | None:
    for name in (*_SEMISYNC_CLIENTS, _CONNECTED):
        clients = server.status.latest(name)
        if clients is not None and clients.value >= 1:
            spelling = server.status.after[name].spelling
            return int(clients.value) + 1, clients.places, f"{spelling} and the source"
    replicas = _replicas(server)
    if replicas:
        return len(replicas) + 1, replicas, "replicas that are listed, and the source"
    return None
