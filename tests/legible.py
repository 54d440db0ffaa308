"""Whether a figure can be read: nothing over its edge, no text on another, axes that say it all."""

from itertools import combinations

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

SLACK = 1.5  # pixels


def problems(figure):
    """What is wrong with a figure, in words; nothing if it can be read."""
    FigureCanvasAgg(figure).draw()
    found = [*_over_the_edge(figure), *_markup(figure), *_legends(figure)]
    for axes in (axes for axes in figure.axes if axes.axison and axes.get_visible()):
        found += _scales(figure, axes)
        found += _ticks(axes)
    return [*found, *_pages(figure), *_heads(figure)]


def _texts(figure):
    hidden = {id(t) for axes in figure.axes if not axes.get_visible() for t in axes.findobj()}
    return [
        artist
        for artist in figure.findobj(lambda one: hasattr(one, "get_text"))
        if artist.get_visible() and artist.get_text().strip() and id(artist) not in hidden
    ]


def _over_the_edge(figure):
    width, height = figure.canvas.get_width_height()
    drawn = {id(label) for axes in figure.axes for label in _labels(axes)}
    ticks = {id(t) for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)
             for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
             for t in (tick.label1, tick.label2)}  # fmt: skip
    for text in _texts(figure):
        if id(text) in ticks and id(text) not in drawn:
            continue
        box = text.get_window_extent()
        if box.x0 < -SLACK or box.y0 < -SLACK or box.x1 > width + SLACK or box.y1 > height + SLACK:
            yield f"{text.get_text()!r} is over the edge"


def _markup(figure):
    """Formatters of matplotlib write formulas, which figures show as they stand."""
    for text in _texts(figure):
        if "mathdefault" in text.get_text():
            yield f"{text.get_text()!r} is markup"


def _labels(axes):
    """Of ticks that are drawn."""
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_visible() and axes.axison and axes.get_visible():
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks():
                shown = tick.label1.get_visible() and tick.label1.get_text()
                if shown and low <= tick.get_loc() <= high:
                    yield tick.label1


def _heads(figure):
    """No headline, title, label of an axis or text of a legend lies on another one."""
    parts = (figure, *figure.subfigs)
    heads = [getattr(part, name, None) for part in parts
             for name in ("_suptitle", "_supxlabel", "_supylabel")]  # fmt: skip
    for axes in (axes for axes in figure.axes if axes.axison and axes.get_visible()):
        heads += [axes.xaxis.label, axes.yaxis.label, axes.title, axes._left_title,
                  axes._right_title]  # fmt: skip
    legends = (legend for part in parts for legend in part.legends)
    heads += [text for legend in legends for text in legend.get_texts()]
    boxes = [(text.get_text(), text.get_window_extent().padded(-SLACK))
             for text in heads if text is not None and text.get_text().strip()]  # fmt: skip
    for (one, box), (other, beside) in combinations(boxes, 2):
        if box.overlaps(beside):
            yield f"{one!r} lies on {other!r}"


def _ticks(axes):
    for axis in ("x", "y"):
        boxes = [
            (label.get_text(), label.get_window_extent())
            for label in _labels(axes)
            if label in getattr(axes, f"get_{axis}ticklabels")()
        ]
        for (one, box), (other, beside) in combinations(boxes, 2):
            if box.padded(-SLACK).overlaps(beside.padded(-SLACK)):
                yield f"ticks {one!r} and {other!r} of {axis} overlap"


def _scales(figure, axes):
    """A logarithmic axis says so, in its label or in that of an axis that it shares."""
    for axis in ("x", "y"):
        if getattr(axes, f"get_{axis}scale")() not in {"log", "symlog"}:
            continue
        group = getattr(axes, f"get_shared_{axis}_axes")().get_siblings(axes)
        said = [getattr(one, f"get_{axis}label")() for one in group]
        alike = [
            getattr(one, f"get_{axis}label")()
            for one in figure.axes
            if getattr(one, f"get_{axis}lim")() == getattr(axes, f"get_{axis}lim")()
        ]
        for part in (figure, *figure.subfigs):
            super_label = getattr(part, f"_sup{axis}label", None)
            said.append(super_label.get_text() if super_label else "")
        if not any("logarithmic" in words for words in said + alike):
            yield f"{axis} of {axes.get_title(loc='left')!r} does not say that it is logarithmic"


def _legends(figure):
    legends = [
        legend
        for part in (figure, *figure.subfigs)
        for legend in (*part.legends, *(axes.get_legend() for axes in part.axes))
        if legend is not None
    ]
    for legend in legends:
        looks = [_look(handle) for handle in legend.legend_handles]
        for look in {look for look in looks if looks.count(look) > 1}:
            yield f"a legend has {look} more than once"
    boxes = [legend.get_window_extent() for legend in {id(one): one for one in legends}.values()]
    if any(a.padded(-SLACK).overlaps(b.padded(-SLACK)) for a, b in combinations(boxes, 2)):
        yield "legends overlap"


def _look(handle):
    if hasattr(handle, "get_marker"):
        inside = to_hex(handle.get_markerfacecolor()) if handle.get_marker() != "None" else ""
        line = handle.get_linestyle(), handle.get_linewidth()
        return (to_hex(handle.get_color()), handle.get_marker(), *line, inside)
    if hasattr(handle, "get_facecolor") and hasattr(handle, "get_hatch"):
        colour = handle.get_facecolor()
        return (repr(colour), handle.get_hatch(), repr(handle.get_alpha()))
    return id(handle)


def _pages(figure):
    """Axes of the same figure have the same scale."""
    for axis in ("x", "y"):
        labelled = [axes for axes in figure.axes if getattr(axes, f"get_{axis}label")()]
        for one, other in combinations(labelled, 2):
            same = getattr(one, f"get_{axis}label")() == getattr(other, f"get_{axis}label")()
            together = one.get_figure(root=False) is other.get_figure(root=False)
            limits = getattr(one, f"get_{axis}lim")() == getattr(other, f"get_{axis}lim")()
            if same and together and not limits:
                yield f"{getattr(one, f'get_{axis}label')()!r} has two scales"
