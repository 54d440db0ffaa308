"""What replication sends as text: a row per link, with its price at each provider."""

from __future__ import annotations

from rich.console import Group

from simrep.measure.units import number, size
from simrep.show.text.layout import table
from simrep.show.text.plan import answer_tables
from simrep.show.views import tables
from simrep.whatif.plan.traffic import LinkTraffic, Traffic

__all__ = ["NOT_PRICED", "traffic_tables"]

NOT_PRICED = "not priced"
_MOST = 60  # rows: all links of eight nodes


@tables.register(Traffic)
def traffic_tables(answer: Traffic) -> Group:
    """A row per link, and the sum; of many links the fullest ones."""
    sited = any(link.source_region for link in answer.links)
    heads = ["from", "to", *(["regions"] * sited), "per commit", "KB/s", "GB a month", "95 %"]
    if not answer.providers:
        heads.append("USD a month")
    heads += [f"{provider}: USD a month" for provider in answer.providers]
    rows = [
        (link.source, link.target, *([_regions(link)] * sited), size(link.bytes_per_commit),
         number(link.bytes_per_s.mean / 1e3), number(link.gb_per_month.mean),
         f"{number(link.gb_per_month.low)} .. {number(link.gb_per_month.high)}",
         *_prices(answer, link))
        for link in _shown(answer)
    ]  # fmt: skip
    if left := len(answer.links) - len(rows):
        rows.append((f"({left} others)", *[""] * (len(heads) - 1)))
    commit = sum(link.bytes_per_commit for link in answer.links)
    rate = sum(link.bytes_per_s.mean for link in answer.links)
    total = ["all", "", *([""] * sited), size(commit), number(rate / 1e3),
             number(answer.value or 0.0),
             f"{number(answer.low or 0.0)} .. {number(answer.high or 0.0)}"]  # fmt: skip
    if not answer.providers:
        total.append(NOT_PRICED)
    total += [_money(answer.usd(provider)) for provider in answer.providers]
    columns = "ll" + "l" * sited + "r" * (len(heads) - 2 - sited)
    return answer_tables(answer, table(heads, columns, rows, total=total))


def _shown(answer: Traffic) -> list[LinkTraffic]:
    """Links in their order, without the emptiest ones where there are too many."""
    fullest = sorted(answer.links, key=lambda link: -link.bytes_per_s.mean)[:_MOST]
    kept = {(link.source, link.target) for link in fullest}
    return [link for link in answer.links if (link.source, link.target) in kept]


def _regions(link: LinkTraffic) -> str:
    if not (link.source_region and link.target_region):
        return "-"
    if link.source_region == link.target_region:
        return f"within {link.source_region}"
    return f"{link.source_region} to {link.target_region}"


def _prices(answer: Traffic, link: LinkTraffic) -> list[str]:
    if not answer.providers:
        return [NOT_PRICED]
    return [_money(link.usd(provider)) for provider in answer.providers]


def _money(usd: float | None) -> str:
    return NOT_PRICED if usd is None else f"{usd:,.2f}"
