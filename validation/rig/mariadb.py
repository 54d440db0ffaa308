"""MariaDB started by hand."""

from __future__ import annotations

__all__ = ["MariaDB"]


class MariaDB:
    """Program names and options of MariaDB 10.5 and later."""

    name = "mariadb"
    daemon = "mariadbd"
    slap_program = "mariadb-slap"

    def initialise(self, data: str) -> list[str]:
        """``--force``: the host's own name need not resolve."""
        return [
            *("mariadb-install-db", "--no-defaults", "--user=mysql", f"--datadir={data}"),
            *("--force", "--auth-root-authentication-method=normal"),
            *("--skip-test-db", "--skip-name-resolve"),
        ]

    def arguments(self) -> list[str]:
        """None."""
        return []
