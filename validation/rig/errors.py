"""What can go wrong on the rig, in words that say what to do next."""

from __future__ import annotations

from simrep.errors import SimrepError

__all__ = ["BusyError", "MixedError", "RigError"]


class RigError(SimrepError):
    """A real cluster, its network or its load did not do what was asked."""


class BusyError(RigError):
    """Another rig is at work on this machine."""


class MixedError(RigError):
    """A dataset would hold what different machines, engines or versions have measured."""
