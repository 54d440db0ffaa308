"""Figures of answers to a model's own questions, in the manner of all others; loads matplotlib."""

from simrep.show.plot.style import GREY, PALETTE, Sheet, decade_ticks, logarithmic

__all__ = ["GREY", "PALETTE", "Sheet", "decade_ticks", "logarithmic"]
