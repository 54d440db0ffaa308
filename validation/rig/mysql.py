"""MySQL, and Percona XtraDB Cluster, started by hand."""

from __future__ import annotations

__all__ = ["MySQL", "Percona"]


class MySQL:
    """Program names and options of MySQL 8.4 and later."""

    name = "mysql"
    daemon = "mysqld"
    slap_program = "mysqlslap"

    def initialise(self, data: str) -> list[str]:
        """Root without a password."""
        options = ["--no-defaults", "--user=mysql", f"--datadir={data}"]
        return ["mysqld", *options, "--initialize-insecure"]

    def arguments(self) -> list[str]:
        """The X plugin would want a port of its own; files may be loaded from anywhere."""
        return ["--mysqlx=OFF", "--secure-file-priv="]


class Percona(MySQL):
    """Percona XtraDB Cluster: MySQL with Galera; nodes trust one another without certificates."""

    name = "percona"

    def arguments(self) -> list[str]:
        """As MySQL, without encryption between nodes."""
        return [*super().arguments(), "--pxc-encrypt-cluster-traffic=OFF"]
