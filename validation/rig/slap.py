"""``mariadb-slap`` and ``mysqlslap``: command line and output."""

from __future__ import annotations

import re

from simrep.rig.errors import RigError
from simrep.rig.load import Load
from simrep.rig.statement import DATABASE
from simrep.rig.tables import statement

__all__ = ["slap_command", "slap_seconds"]

_SECONDS = re.compile(r"Average number of seconds to run all queries: ([\d.]+)")


def slap_command(load: Load, program: str, socket: str) -> list[str]:
    """The command line of a load.

    The programs give every thread a whole number of queries: they divide and drop the rest.

    Parameters
    ----------
    load : Load
    program : str
        ``mariadb-slap`` or ``mysqlslap``; they name the option for no encryption differently.
    socket : str
        Of the server, where the program runs.
    """
    assert load.each is not None
    return [
        program,
        "--no-defaults",
        "--user=root",
        f"--socket={socket}",
        "--skip-ssl" if program.startswith("mariadb") else "--ssl-mode=DISABLED",
        f"--create-schema={DATABASE}",
        "--no-drop",
        "--delimiter=;",
        f"--concurrency={load.threads}",
        f"--number-of-queries={load.each * load.threads}",
        f"--query={statement(load).text}",
    ]


def slap_seconds(output: str) -> float:
    """How long all queries took, connecting included.

    Raises
    ------
    RigError
        If the program did not say so.
    """
    found = _SECONDS.search(output)
    if found is None:
        raise RigError(f"slap printed no time: {output.strip()[-300:]}")
    return float(found[1])
