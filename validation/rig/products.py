"""Replication products by name."""

from __future__ import annotations

from collections.abc import Callable

from simrep.rig.asynchronous import Asynchronous
from simrep.rig.engine import Product
from simrep.rig.errors import RigError
from simrep.rig.galera import Galera
from simrep.rig.group_replication import GroupReplication
from simrep.rig.mariadb import MariaDB
from simrep.rig.mysql import MySQL, Percona
from simrep.rig.semisync import Semisync
from simrep.rig.server import ServerProgram

__all__ = ["product"]

PROGRAMS: dict[str, Callable[[], ServerProgram]] = {
    "mariadb": MariaDB,
    "mysql": MySQL,
    "percona": Percona,
}
PRODUCTS: dict[tuple[str, str], Callable[[ServerProgram], Product]] = {
    ("galera", "mariadb"): Galera,
    ("galera", "percona"): Galera,
    ("group_replication", "mysql"): GroupReplication,
    ("semisync", "mysql"): Semisync,
    ("semisync", "mariadb"): Semisync,
    ("asynchronous", "mysql"): Asynchronous,
    ("asynchronous", "mariadb"): Asynchronous,
}


def product(name: str, server: str) -> Product:
    """How a product's cluster is formed from servers of a kind.

    Raises
    ------
    RigError
        If there is no such product, or that server does not have it.
    """
    if (name, server) not in PRODUCTS:
        known = ", ".join(f"{one} on {program}" for one, program in PRODUCTS)
        raise RigError(f"no {name} on {server}: there are {known}")
    return PRODUCTS[name, server](PROGRAMS[server]())
