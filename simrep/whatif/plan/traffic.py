"""What replication sends over each link in a month, and what providers take for that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from simrep.contract.setup import Setup, setup_of
from simrep.errors import ScenarioError
from simrep.measure.confidence import Interval, mean_interval
from simrep.measure.units import number
from simrep.runs.executor import collected, in_order
from simrep.runs.strain import Length, Strain, strain
from simrep.runs.sustain import lone_latency_s
from simrep.scenario import Scenario, with_values
from simrep.whatif.plan.answer import Answer
from simrep.whatif.plan.prices import Price, Prices
from simrep.whatif.plan.prices import prices as prices_of
from simrep.whatif.plan.regions import CODES

__all__ = ["HOURS", "LinkTraffic", "Traffic", "traffic"]

HOURS: Final = 730
"""Of a month: a twelfth of a year."""
_GB = 1e9
_HEADERS = 52  # bytes of a segment: IPv4 20, TCP 20, time stamps 12
_WARM, _WANTED = 300, 1500  # transactions
_EACH = 4  # of every client
_LATENCIES = 20.0
_LASTING: Final = {
    "workload.queries": None,
    "workload.transactions_per_client": None,
    "run.duration_s": 1.0,
    "run.warmup_s": 0.0,
    "run.warmup": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTraffic:
    """What goes over the link from one node to another.

    Attributes
    ----------
    source, target : str
        Names of the nodes.
    source_region, target_region : str
        Where they are, as providers call it; empty if a node has no site.
    bytes_per_s : Interval
    gb_per_month : Interval
        A GB is 1,000,000,000 bytes, a month 730 hours.
    bytes_per_commit : float
    messages_per_s : float
    prices : mapping of str to Price
        By provider; those that have one for this link.
    """

    source: str
    target: str
    source_region: str
    target_region: str
    bytes_per_s: Interval
    gb_per_month: Interval
    bytes_per_commit: float
    messages_per_s: float
    prices: Mapping[str, Price]

    def usd(self, provider: str) -> float | None:
        """US dollars a month; None if the provider has no price for it."""
        price = self.prices.get(provider)
        return None if price is None else price.usd_per_gb * self.gb_per_month.mean


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Traffic(Answer):
    """Bytes over each link and their price; ``value`` is the sum of all links in GB a month.

    ``plot()`` draws a bar for every link.

    Attributes
    ----------
    links : tuple of LinkTraffic
    throughput_tps : float
        Commits per second that the load makes.
    providers : tuple of str
        Those that have a price for any of the links.
    """

    width = 130

    links: tuple[LinkTraffic, ...]
    throughput_tps: float
    providers: tuple[str, ...]

    def usd(self, provider: str) -> float | None:
        """US dollars a month for all links; None if one of them has no price."""
        each = [link.usd(provider) for link in self.links]
        return None if None in each else sum(one for one in each if one is not None)

    def _rows(self) -> list[dict[str, Any]]:
        """A row per link."""
        rows = []
        for link in self.links:
            row: dict[str, Any] = {
                "from": link.source,
                "to": link.target,
                "from_region": link.source_region,
                "to_region": link.target_region,
                "bytes_per_s": link.bytes_per_s.mean,
                "gb_per_month": link.gb_per_month.mean,
                "gb_per_month_low": link.gb_per_month.low,
                "gb_per_month_high": link.gb_per_month.high,
                "bytes_per_commit": link.bytes_per_commit,
                "messages_per_s": link.messages_per_s,
            }
            for provider in self.providers:
                price = link.prices.get(provider)
                row[f"{provider}_usd_per_gb"] = None if price is None else price.usd_per_gb
                row[f"{provider}_usd_per_month"] = link.usd(provider)
                row[f"{provider}_valid"] = None if price is None else price.valid
                row[f"{provider}_source"] = None if price is None else price.source
            rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it, with the price of all links by provider."""
        return super(Traffic, self).to_dict() | {
            "throughput_tps": self.throughput_tps,
            "usd_per_month": {provider: self.usd(provider) for provider in self.providers},
        }


def traffic(
    scenario: Scenario,
    *,
    prices: str | Path | None = None,
    replications: int = 4,
    confidence: float = 0.95,
    seed: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> Traffic:
    """Bytes that servers send each other in a month of the scenario's load, and their price.

    Parameters
    ----------
    scenario : Scenario
        The sites of its nodes are the regions that prices are looked up for.
    prices : str or Path, optional
        A CSV file with the columns ``provider``, ``from``, ``to`` and ``usd_per_gb``, instead of
        the list prices that ship.
    replications : int
        At least 2.
    confidence, seed, executor, progress
        See :func:`simrep.plan`.

    Returns
    -------
    Traffic
        A link without a price is not priced; it never costs nothing.
    """
    if replications < 2:
        raise ScenarioError("replications", f"an interval needs at least 2, given {replications}")
    table = prices_of(prices)
    _check(scenario)
    seed = scenario.run.seed if seed is None else seed
    setup = setup_of(with_values(scenario, _LASTING))
    length = _length(scenario, seed)
    tasks = [(setup, seed, one, length) for one in range(replications)]
    strains, complete = collected(
        in_order(strain, tasks, executor), least=2, progress=progress, total=replications
    )
    links = _links(scenario, strains, table, confidence)
    providers = tuple(one for one in table.providers if any(one in link.prices for link in links))
    total = _total(strains, confidence)
    first = setup_of(scenario)
    throughput_tps = fmean(one.throughput_tps for one in strains)
    return Traffic(
        question="The traffic of replication over each link in a month",
        sentence=_sentence(links, providers, total, throughput_tps),
        value=total.mean,
        low=total.low,
        high=total.high,
        unit="GB a month",
        confidence=confidence,
        notes=tuple(_notes(scenario, strains, links, table, providers)),
        seed=seed,
        complete=complete,
        scenario=first.scenario.to_dict(),
        versions=first.versions,
        links=links,
        throughput_tps=throughput_tps,
        providers=providers,
    )


def _check(scenario: Scenario) -> None:
    """Refuse what sends nothing, and what does not last."""
    setup: Setup = setup_of(scenario)
    for path in scenario.steady("traffic of a month").timed:
        raise ScenarioError(
            path,
            "happens at a given time, but traffic of a month needs a lasting load",
            "leave it out",
        )
    if setup.model.alone or len(scenario.node_names) < 2:
        raise ScenarioError(
            "cluster",
            f"the servers of model {setup.model.name!r} send nothing to each other"
            if setup.model.alone
            else "a single node sends nothing to others",
            "ask about a model that replicates, with two nodes or more",
        )


def _length(scenario: Scenario, seed: int) -> Length:
    lone_s = lone_latency_s(scenario, seed) + scenario.workload.think_time_ms / 1e3
    workload = scenario.workload
    clients = workload.clients
    expected = clients / lone_s
    if workload.open_loop:
        groups = sum(group.rate_tps or 0.0 for group in workload.groups)
        expected = groups or workload.rate_tps or 1.0
    wanted = max(_WANTED, _EACH * clients)
    return Length(_WARM + 2 * clients, wanted, _LATENCIES * lone_s, max(1.0, expected))


def _links(
    scenario: Scenario, strains: Sequence[Strain], table: Prices, confidence: float
) -> tuple[LinkTraffic, ...]:
    regions = _regions(scenario)
    found = []
    for each in zip(*(one.links for one in strains), strict=True):
        rates = [link.bytes / run.seconds for link, run in zip(each, strains, strict=True)]
        first = each[0]
        rate = mean_interval(rates, confidence)
        source, target = regions[first.source], regions[first.target]
        known = {
            provider: price
            for provider in table.providers
            if source and target and (price := table.price(provider, source, target))
        }
        commits = sum(run.committed for run in strains)
        found.append(
            LinkTraffic(
                source=first.source,
                target=first.target,
                source_region=source,
                target_region=target,
                bytes_per_s=rate,
                gb_per_month=_monthly(rate),
                bytes_per_commit=sum(link.bytes for link in each) / max(1, commits),
                messages_per_s=fmean(
                    link.messages / run.seconds for link, run in zip(each, strains, strict=True)
                ),
                prices=known,
            )
        )
    return tuple(found)


def _total(strains: Sequence[Strain], confidence: float) -> Interval:
    rates = [sum(link.bytes for link in run.links) / run.seconds for run in strains]
    return _monthly(mean_interval(rates, confidence))


def _monthly(rate: Interval) -> Interval:
    """From bytes per second to GB in a month."""
    times = HOURS * 3600.0 / _GB
    low = max(0.0, times * rate.low)
    return Interval(low, times * rate.high, times * rate.mean, rate.confidence)


def _regions(scenario: Scenario) -> dict[str, str]:
    """The region of each node as its provider calls it; empty where a node has no site."""
    codes = CODES.get(scenario.network.preset or "", {})
    by_site = {site: code for code, site in codes.items()}
    return {
        node.name: "" if node.site is None else by_site.get(node.site, node.site)
        for node in scenario.node_tables()
    }


def _sentence(
    links: Sequence[LinkTraffic],
    providers: Sequence[str],
    total: Interval,
    throughput_tps: float,
) -> str:
    size = f"{number(total.mean)} GB a month ({number(total.low)} to {number(total.high)})"
    rate = number(throughput_tps)
    said = [f"{size} over all links, at {rate} transactions/s throughout."]
    for provider in providers:
        known = [one for link in links if (one := link.usd(provider)) is not None]
        left = len(links) - len(known)
        if left:
            said.append(
                f"At {provider} {_usd(sum(known))} a month for {len(known)} of {len(links)} links; "
                f"{left} are not priced."
            )
        else:
            said.append(f"List price at {provider}: {_usd(sum(known))} a month.")
    if not providers:
        said.append("Nothing of it is priced.")
    return " ".join(said)


def _usd(amount: float) -> str:
    return f"{amount:,.2f} USD"


def _notes(
    scenario: Scenario,
    strains: Sequence[Strain],
    links: Sequence[LinkTraffic],
    table: Prices,
    providers: Sequence[str],
) -> list[str]:
    notes = [
        f"The load is constant for {HOURS} hours; if yours varies, take its mean.",
        "Not counted: traffic of clients, state transfers, backups and monitoring.",
    ]
    size = sum(link.bytes for run in strains for link in run.links)
    segments = sum(link.messages + link.bytes / 1448.0 for run in strains for link in run.links)
    more = _HEADERS * segments / size if size else 0.0
    notes.append(
        "Counted: bytes that servers hand to TCP. Headers of TCP and IP add at most "
        f"{more:.0%}, if every message goes alone; acknowledgements and TLS are not counted."
    )
    without = [node for node, region in _regions(scenario).items() if not region]
    bare = [
        f"{link.source_region} to {link.target_region}"
        for link in links
        if link.source_region and link.target_region and not link.prices
    ]
    if without:
        which = "a site" if len(without) == 1 else "sites"
        notes.append(
            f"Not priced: {', '.join(without)} without {which}. Give each node its region: "
            'site = "eu-west-1" in [[node]].'
        )
    if bare:
        notes.append(
            f"Not priced, as {table.name} has no price: {', '.join(dict.fromkeys(bare))}. Give a "
            "table with --prices FILE.csv (columns provider, from, to, usd_per_gb)."
        )
    used = {price for link in links for price in link.prices.values()}
    if providers:
        days = sorted({price.valid for price in used if price.valid})
        when = "" if not days else f" of {days[0]}"
        if len(days) > 1:
            when += f" to {days[-1]}"
        notes.append(
            f"Prices: {table.name}, list prices{when} without discounts or tiers; check yours. "
            "A GB is 1,000,000,000 bytes; a provider that counts 1,073,741,824 bills 7 % fewer."
        )
        same = [link for link in links if link.prices and link.source_region == link.target_region]
        if same:
            notes.append("Nodes of one region are taken to be in different zones of it.")
    return notes
