"""The equipment of a campaign on this machine: engines by kind of server, products, accuracy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from simrep.errors import ScenarioError, nearest
from simrep.rig import products
from simrep.rig.accuracy import measure_accuracy
from simrep.rig.cell import ProductName, ServerName
from simrep.rig.engine import DelayMethod, Engine, EngineName, Product
from simrep.rig.engines import IMAGES, choose
from simrep.rig.machine import machine

__all__ = ["ThisMachine", "bases"]


def bases(texts: list[str]) -> dict[str, str]:
    """Images or folders by kind of server, of arguments like ``mariadb=my-image`` or ``my-image``.

    One without a kind holds for all kinds that have none of their own.

    Raises
    ------
    ScenarioError
        If there is no such kind, or two bases for one.
    """
    found: dict[str, str] = {}
    for text in texts:
        server, equals, base = text.partition("=")
        if not equals or "/" in server:  # of a path, not of a kind
            server, base = "", text
        if server and server not in IMAGES:
            raise ScenarioError("--base", f"no server {server!r}", nearest(server, IMAGES))
        if server in found:
            raise ScenarioError("--base", f"given {text}, there is {found[server]} already")
        found[server] = base
    return found


class ThisMachine:
    """Engines and products of this machine.

    Parameters
    ----------
    server : ServerName
        On whose hosts the accuracy of delays is measured.
    data : Path
        Whose file system is described.
    engine : EngineName, optional
        By default what this machine has.
    base : mapping of kind of server to str
        Images or root file systems; "" stands for all others.
    delay_method : DelayMethod, optional
        By default netem where the kernel has it.
    tell : callable, optional
        Is told which engine is taken, and why.
    """

    def __init__(
        self,
        server: ServerName,
        data: Path,
        *,
        engine: EngineName | None = None,
        base: Mapping[str, str] | None = None,
        delay_method: DelayMethod | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._server = server
        self._data = data
        self._wanted = engine
        self._base = base or {}
        self._delay_method = delay_method
        self._tell = tell or (lambda _text: None)
        self._told = ""

    def engine(self, server: ServerName) -> Engine:
        """Hosts for servers of a kind."""
        choice = choose(
            server,
            wanted=self._wanted,
            base=self._base.get(server, self._base.get("")),
            delay_method=self._delay_method,
        )
        if choice.engine.name != self._told:
            self._told = choice.engine.name
            self._tell(f"engine {choice.engine.name}: {choice.reason}")
        return choice.engine

    def product(self, product: ProductName, server: ServerName) -> Product:
        """How clusters of a product are formed."""
        return products.product(product, server)

    def accuracy(self) -> dict[str, Any]:
        """How exactly packets are delayed between two hosts, measured now."""
        engine = self.engine(self._server)
        try:
            engine.up(2)
            found = [one.row() for one in measure_accuracy(engine)]
            return {"delay_method": engine.delay_method, "delays": found}
        finally:
            engine.down()

    def machine(self) -> dict[str, Any]:
        """What machine it is."""
        self._data.mkdir(parents=True, exist_ok=True)
        return machine(self._data)
