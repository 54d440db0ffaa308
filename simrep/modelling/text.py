"""Tables of answers to a model's own questions, in the manner of all others; loads ``rich``."""

from simrep.measure.units import duration, number
from simrep.show.text.layout import closing, table, title
from simrep.show.text.plan import answer_tables

__all__ = ["answer_tables", "closing", "duration", "number", "table", "title"]
