"""Closed forms of queueing theory and of ordering: a second opinion on a simulation, at once.

A model tells in closed form what a transaction goes through (``journey``): work on its machine,
ways over the network, places where one at a time is served, and the groups of a group commit. What
they add up to at a load is solved here, station by station (``solve``). Whatever has no closed form
is named instead of being answered (``doubts``).
"""
