"""Fragment sizes as a table for a terminal, and what follows from it in words."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group
from rich.table import Table

from simrep.modelling.questions import closing, duration, number, table, tables, title
from simrep.models.galera.questions.fragment_size_result import (
    FragmentSize,
    FragmentSizes,
    size_text,
)


@tables.register(FragmentSizes)
def fragment_size_tables(found: FragmentSizes) -> Group:
    """A row per size, the one without streaming first, and the verdict."""
    name = f"{found.title}: " if found.title else ""
    heading = (
        f"{name}transaction {found.transaction!r}, {size_text(found.whole)} {found.unit}, beside "
        f"{number(found.before_tps)} transactions/s"
    )
    missing = "" if found.complete else "sizes are missing"
    notes = closing([*_verdict(found), "", *_notes(found)], missing=missing)
    return Group(title(heading), _sizes(found), notes)


def _sizes(found: FragmentSizes) -> Table:
    heads = (
        *(found.unit, "fragments", "time", "slowdown", "payload", "stall"),
        *("locked", "elsewhere", "paused", ""),
    )
    sizes = table(heads, "r" * (len(heads) - 1) + "L")
    chosen = found.recommended
    for one in (found.without, *found.sizes):
        style = "green" if one in chosen else None
        sizes.add_row(*_cells(one), _mark(one, chosen), style=style)
    return sizes


def _cells(one: FragmentSize) -> Iterator[str]:
    yield size_text(one.size) if one.size else "none"
    yield number(one.fragments)
    yield duration(one.duration_s)
    yield number(one.slowdown) + _half(one, "slowdown")
    yield _percent(one.payload_share) + _half(one, "payload_share", 100.0)
    yield duration(one.stall_s)
    yield duration(one.lock_hold_s)
    yield duration(one.remote_lock_hold_s)
    yield duration(one.paused_s)


def _mark(one: FragmentSize, chosen: tuple[FragmentSize, ...]) -> str:
    if one.error:
        return one.error
    if one in chosen:
        return "recommended"
    return "no: " + ", ".join(one.failing) if one.failing else "good"


def _verdict(found: FragmentSizes) -> list[str]:
    """What to do, in sentences."""
    lines = []
    if found.without.recommended:
        lines.append("Without streaming replication nothing is exceeded: it is not needed.")
    elif found.without.error:
        lines.append(f"Without streaming replication it fails: {found.without.error}.")
    chosen = found.recommended
    if chosen:
        ends = list(dict.fromkeys(size_text(one.size) for one in (chosen[0], chosen[-1])))
        middle = " From the middle:" if len(chosen) > 1 else ""
        lines.append(f"Recommended: {' to '.join(ends)} {found.unit}.{middle}")
        lines.append(_setting(found, chosen[(len(chosen) - 1) // 2]))
    elif found.sizes:
        lines += _why_none(found)
    if found.skipped:
        lines.append(
            f"Not simulated: {', '.join(map(size_text, found.skipped))}; the slowdown was rising."
        )
    return lines


def _why_none(found: FragmentSizes) -> Iterator[str]:
    yield "No size meets everything."
    ends = {"smallest": found.sizes[0], "largest": found.sizes[-1]}
    if len(found.sizes) == 1:
        del ends["smallest"]
    for name, one in ends.items():
        label = f"The {name}, {size_text(one.size)}" if len(ends) > 1 else size_text(one.size)
        yield f"{label}: {'; '.join(_reasons(one, found))}."
    best = found.compromise
    if best is None:
        yield "All are too slow or fail, so there is no compromise within the slowdown either."
        return
    yield (
        f"Best compromise, the smallest stall within the slowdown: {size_text(best.size)} "
        f"{found.unit} ({'; '.join(_reasons(best, found))})."
    )
    yield _setting(found, best)


def _reasons(one: FragmentSize, found: FragmentSizes) -> Iterator[str]:
    criteria = found.criteria
    for name in one.failing or ("none",):
        if name == "error":
            yield f"fails ({one.error})"
        elif name == "stall":
            yield f"stall {duration(one.stall_s)}, at most {duration(criteria.longest_stall_s)}"
        elif name == "slowdown":
            yield f"slowdown {number(one.slowdown)}, at most {number(criteria.largest_slowdown)}"
        elif name == "payload":
            yield (
                f"payload {_percent(one.payload_share)} of before, at least "
                f"{_percent(criteria.least_payload)}"
            )
        else:
            yield "meets everything"


def _setting(found: FragmentSizes, one: FragmentSize) -> str:
    return (
        f"  SET SESSION wsrep_trx_fragment_unit = '{found.unit}', "
        f"wsrep_trx_fragment_size = {one.size};"
    )


def _notes(found: FragmentSizes) -> Iterator[str]:
    runs = "1 replication" if found.replications == 1 else f"{found.replications} replications"
    yield f"Stalls in whole intervals of {duration(found.interval_s)}. {runs}, seed {found.seed}."
    if found.replications > 1:
        yield "± is half of a 95 % interval of the mean; stalls are the longest of all."


def _percent(share: float) -> str:
    return f"{number(100.0 * share)} %"


def _half(one: FragmentSize, name: str, scale: float = 1.0) -> str:
    low, high = one.intervals.get(name, (0.0, 0.0))
    return f" ± {number(scale * (high - low) / 2.0, 2)}" if high > low else ""
