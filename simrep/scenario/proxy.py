"""The ``[proxy]`` table: who stands between clients and servers, and what it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from simrep.errors import ScenarioError, nearest
from simrep.scenario.table import Checks, Interval, Name, Queued, Seconds, Table
from simrep.user_files import parse_toml
from simrep.workload.proxy import Rules

__all__ = ["ProxyTable", "proxies"]

_DEFAULT = "as the one that it is like"


@cache
def proxies() -> Mapping[str, Mapping[str, Any]]:
    """What a ``[proxy]`` may be like, by its name: ``proxies.toml``."""
    file = files(__package__) / "proxies.toml"
    return parse_toml(file.read_text(encoding="utf-8"), str(file))


class ProxyTable(Table):
    """A proxy between clients and servers: it checks servers, and routes clients to them.

    What it is like decides all that is not said here (``proxies.toml``). Nodes that groups of
    clients name do not matter to those that go by the proxy.
    """

    like: Name = Field("haproxy", description="which proxy it is like")
    beside: Name | None = Field(
        None,
        description="a node whose place in the network it and its clients share: its ways to the "
        "others have the delays and cuts of that; default: a place of its own, "
        "workload.client_rtt_ms from every node, and cut off from none",
    )
    nodes: tuple[Name, ...] | None = Field(
        None,
        min_length=1,
        description="nodes that it knows, in the order in which they are to take writes; default: "
        "all in their order",
    )
    check_s: Interval | None = Field(None, description=f"time between checks; default: {_DEFAULT}")
    check_from: Literal["begin", "end"] | None = Field(
        None, description="whether that counts from the begin or the end of a check"
    )
    check_timeout_s: Interval | None = Field(
        None,
        description="after so long without an answer a check has failed; default: as the one that "
        "it is like, of haproxy: check_s",
    )
    fall: Checks | None = Field(
        None, description="so many checks in a row without an answer take a server out"
    )
    fall_errors: Checks | None = Field(
        None, description="so many that are refused, or say that it is not fit, do as well"
    )
    rise: Checks | None = Field(None, description="so many good checks in a row take it in")
    notified: bool | None = Field(
        None,
        strict=True,
        description="whether servers tell it of new views and roles, so that it checks all of them "
        "at once",
    )
    on_marked_down: Literal["keep", "close"] | None = Field(
        None, description="what happens to open connections to a server that is taken out"
    )
    on_fail_back: Literal["keep", "close"] | None = Field(
        None, description="and to those of a writer that another one takes the place of"
    )
    writers: Literal["one", "all"] | None = Field(
        None, description="how many of the servers that take writes it sends writes to"
    )
    prefer: Literal["order", "rank"] | None = Field(
        None,
        description="which one that is: the first of its nodes, or the one with the lowest number "
        "in the group by its own words",
    )
    fail_back: bool | None = Field(
        None, strict=True, description="whether a preferred one that is back takes the writes again"
    )
    readers: Literal["others", "all", "writer"] | None = Field(
        None, description="which servers reads go to, if it splits: others: all but the writer"
    )
    split: bool | None = Field(
        None,
        strict=True,
        description="whether what only reads goes to readers: transactions of a pool, clients "
        "where they are pinned; else all goes to the writer",
    )
    donors: bool | None = Field(
        None, strict=True, description="whether a server that gives its state away is fit"
    )
    max_lag_s: Seconds | None = Field(
        None, description="a server that is further behind gets no reads; default: whatever it is"
    )
    max_queue: Queued | None = Field(
        None,
        description="one with more transactions in its queue gets no clients; default: however "
        "many",
    )
    connections: Literal["pinned", "pooled"] | None = Field(
        None,
        description="whether a client stays with a server, or every transaction takes a connection "
        "of a pool",
    )
    redispatch: bool | None = Field(
        None,
        strict=True,
        description="whether another server is tried at once when one refuses a connection; else "
        "the same is tried again every second for hold_s, whatever checks say of it meanwhile",
    )
    repeat: Literal["no", "reads", "all"] | None = Field(
        None,
        description="which transactions of a single statement it submits once more by itself when "
        "it has lost the connection",
    )
    connect_timeout_s: Interval | None = Field(
        None, description="after so long its own attempt to connect has failed"
    )
    hold_s: Seconds | None = Field(
        None, description="how long it holds a client that no server takes, before its error"
    )
    refusal: Name | None = Field(None, description="that error, its number first")

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.like not in proxies():
            raise ScenarioError(
                "like",
                f"no proxy {self.like!r}",
                nearest(self.like, list(proxies())) or f"there are {', '.join(proxies())}",
            )
        for place, name in enumerate(self.nodes or ()):
            if name in (self.nodes or ())[:place]:
                raise ScenarioError(f"nodes.{place}", f"node {name!r} is there twice")
        if self.refusal is not None and not self.refusal.partition(" ")[0].isdecimal():
            raise ScenarioError(
                "refusal", f"must begin with its number, given {self.refusal!r}", '"2013 lost"'
            )
        return self

    def complete(self, model: str) -> ProxyTable:
        """The same with all that its kind decides for servers of a product.

        Raises
        ------
        ScenarioError
            If such a proxy does not know the product.
        """
        kind = dict(proxies()[self.like])
        only, models = kind.pop("only", (model,)), kind.pop("models", {})
        if model not in only:
            raise ScenarioError(
                "proxy.like",
                f"{self.like!r} does not know model {model!r}",
                f"it is for {', '.join(only)}; others: "
                + ", ".join(name for name, other in proxies().items() if "only" not in other),
            )
        own = {key: getattr(self, key) for key in self.model_fields_set}
        given = {key: value for key, value in own.items() if value is not None}
        whole = kind | models.get(model, {}) | given
        whole.setdefault("check_timeout_s", whole["check_s"])
        return ProxyTable.model_validate(whole)

    def rules(self, position: Mapping[str, int], servers: Sequence[str]) -> Rules:
        """The same for the engine, if it is complete; ``servers`` are the nodes with data."""
        own = {key: getattr(self, key) for key in Rules.__dataclass_fields__}
        own["nodes"] = tuple(position[name] for name in self.nodes or servers)
        own["beside"] = None if self.beside is None else position[self.beside]
        return Rules(**own)

    def strangers(
        self, names: Sequence[str], arbitrators: Sequence[str]
    ) -> Iterator[ScenarioError]:
        """Nodes that there are not, or that have no data."""
        given = [(f"proxy.nodes.{place}", name) for place, name in enumerate(self.nodes or ())]
        if self.beside is not None:
            given.append(("proxy.beside", self.beside))
        for path, name in given:
            if name not in names:
                yield ScenarioError(path, f"no node {name!r}", nearest(name, names))
            elif name in arbitrators and path != "proxy.beside":
                yield ScenarioError(path, f"{name!r} is an arbitrator: it has no data")
