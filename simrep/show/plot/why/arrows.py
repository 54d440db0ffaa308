"""Messages as slanted arrows between the lines of nodes, with labels that do not overlap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import FancyArrowPatch
from matplotlib.transforms import Bbox

from simrep.show.plot.axes import Since
from simrep.show.plot.style import INK, PALETTE
from simrep.why.commit import Transmission

__all__ = ["CRITICAL", "FOREIGN", "HALF", "MOST_FOREIGN", "OWN", "draw_arrows", "joined",
           "label_arrows"]  # fmt: skip

OWN, CRITICAL, FOREIGN = PALETTE[0], PALETTE[0], "#C3C8CF"
MOST_FOREIGN = 60
"""More messages of other transactions are left out: they would be a grey smear."""

HALF = 0.17
"""Of the height of a bar on the line of a node, in rows."""

_MOST_OWN = 60  # more are drawn thin, and only critical ones are labelled
_FEW = 12  # of more, what a node sends to several others is labelled once
_NEAR = 22.0  # points between arrows that share a label
_SIZE = 8.5  # points
_PLACES = 24  # places on an arrow that are tried

Lines = Mapping[int, float]  # height by node


def draw_arrows(axes: Axes, messages: Sequence[Transmission], lines: Lines, since: Since) -> bool:
    """Draw the messages; False if those of others were left out because they are too many."""
    arrived = [one for one in messages if isfinite(one.arrived_s)]
    shown = [one for one in arrived if one.own or one.critical]
    foreign = [one for one in arrived if not (one.own or one.critical)]
    thin = 0.6 if len(shown) > _MOST_OWN else 1.3
    for one in shown:
        if one.critical and one.handled_s > one.arrived_s:
            axes.hlines(_ends(one, lines, since)[1][1], since(one.arrived_s), since(one.handled_s),
                        colors=CRITICAL, linewidth=2.8, zorder=5)  # fmt: skip
        axes.add_patch(
            FancyArrowPatch(
                *_ends(one, lines, since), arrowstyle="-|>", shrinkA=0, shrinkB=0,
                mutation_scale=13 if one.critical else 9, color=CRITICAL if one.critical else OWN,
                linewidth=2.8 if one.critical else thin, zorder=5 if one.critical else 4,
            )
        )  # fmt: skip
    if len(foreign) <= MOST_FOREIGN:
        ends = [_ends(one, lines, since) for one in foreign]
        grey = LineCollection(ends, colors=FOREIGN, linewidths=0.8, zorder=2)
        axes.add_collection(grey, autolim=False)
    return len(foreign) <= MOST_FOREIGN


def _ends(message: Transmission, lines: Lines, since: Since) -> list[tuple[float, float]]:
    """On the lines of the nodes, but at the edge of what is shaded on that of the origin."""
    return [
        (since(time_s), lines[node] or HALF)
        for time_s, node in ((message.sent_s, message.source), (message.arrived_s, message.target))
    ]


def label_arrows(
    axes: Axes, messages: Sequence[Transmission], lines: Lines, since: Since, taken: list[Bbox]
) -> None:
    """Name the messages of the transaction and the critical ones; if many, a broadcast once.

    The limits of the axes and their place in the figure are final. Where no label may stand is
    ``taken``, in pixels; the places of the labels are added to it.
    """
    shown = [m for m in messages if (m.own or m.critical) and isfinite(m.arrived_s)]
    shown = [one for one in shown if one.critical or not _is_upright(axes, one, lines, since)]
    if len(shown) > _MOST_OWN:
        shown = [one for one in shown if one.critical]
    elif len(shown) > _FEW:
        shown = _one_of_a_broadcast(axes, shown, since)
    for group in _together(axes, shown, lines, since):
        critical = any(one.critical for one in group)
        names = joined(Counter(one.label for one in group))
        text = axes.text(
            0, 0, names, fontsize=_SIZE, color=CRITICAL if critical else INK, zorder=7,
            fontweight="bold" if critical else "normal", ha="center", va="center", in_layout=False,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.6},
            clip_on=True,
        )  # fmt: skip
        width_px = text.get_window_extent().width
        for x, y in _candidates(axes, _ends(group[0], lines, since), width_px):
            text.set_position((x, y))
            extent = text.get_window_extent()
            inside = axes.bbox.x0 <= extent.x0 and extent.x1 <= axes.bbox.x1
            if inside and not any(extent.overlaps(one) for one in taken):
                taken.append(extent)
                break
        else:
            text.remove()


def _is_upright(axes: Axes, message: Transmission, lines: Lines, since: Since) -> bool:
    """Whether it takes next to no time on this axis: there is no room for a name at its side."""
    (x0, _), (x1, _) = axes.transData.transform(_ends(message, lines, since))
    return bool(abs(x1 - x0) < 0.5 * _NEAR * axes.figure.dpi / 72.0)


def _one_of_a_broadcast(
    axes: Axes, messages: Sequence[Transmission], since: Since
) -> list[Transmission]:
    """Critical messages, and one of those that a node sends at about the same time."""
    low, high = axes.get_xlim()
    near = _NEAR * axes.figure.dpi / 72.0 * (high - low) / axes.bbox.width
    kept: list[Transmission] = []
    for one in sorted(messages, key=lambda one: not one.critical):
        if one.critical or not any(
            (one.label, one.source) == (other.label, other.source)
            and abs(since(one.sent_s) - since(other.sent_s)) < near
            for other in kept
        ):
            kept.append(one)
    return kept


def _together(
    axes: Axes, messages: Sequence[Transmission], lines: Lines, since: Since
) -> list[list[Transmission]]:
    """Messages whose arrows lie so near that one label names all; critical ones first."""
    near = _NEAR * axes.figure.dpi / 72.0
    groups: list[tuple[list[float], list[Transmission]]] = []
    for one in sorted(messages, key=lambda one: not one.critical):
        ends = axes.transData.transform(_ends(one, lines, since))
        place = [float(ends[0][0]), float(ends[1][0])]
        for other, group in groups:
            if (group[0].source, group[0].target) == (one.source, one.target) and all(
                abs(a - b) < near for a, b in zip(place, other, strict=True)
            ):
                group.append(one)
                break
        else:
            groups.append((place, [one]))
    return [group for _, group in groups]


def joined(found: Mapping[str, int]) -> str:
    """Labels with how often each comes, three at most; numbers of one kind of thing together."""
    texts: list[str] = []
    last = ""
    for label, times in list(found.items())[:3]:
        kind, _, number = label.rpartition(" ")
        text = number if kind and kind == last and number.isdecimal() else label
        texts.append(text if times == 1 else f"{text} ({times})")
        last = kind
    return ", ".join(texts) + (" ..." if len(found) > 3 else "")


def _candidates(
    axes: Axes, ends: Sequence[tuple[float, float]], width_px: float
) -> list[tuple[float, float]]:
    """Places for a label on the visible part of an arrow and beside it, the best ones first.

    The best are half-way between two lines, and near the middle of the arrow.
    """
    (x0, y0), (x1, y1) = ends
    low, high = axes.get_xlim()
    left, right = sorted((x0, x1))
    ways = [0.0, 1.0]
    if right > left:
        ways = sorted((min(max(edge, left), right) - x0) / (x1 - x0) for edge in (low, high))
    steps = [ways[0] + (ways[1] - ways[0]) * step / _PLACES for step in range(1, _PLACES)]
    middle = [(x0 + way * (x1 - x0), y0 + way * (y1 - y0)) for way in steps]
    centre = 0.5 * (y0 + y1)
    middle.sort(key=lambda at: (round(abs(at[1] % 1.0 - 0.5), 1), abs(at[1] - centre)))
    aside = (0.5 * width_px + 6.0) * (high - low) / axes.bbox.width
    return [(x + shift * aside, y) for shift in (0, 1, -1) for x, y in middle]
