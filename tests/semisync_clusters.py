"""Sources and semi-synchronous replicas wired by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simrep.models.semisync import Semisync
from simrep.testing import WiredCluster

__all__ = ["SemisyncCluster"]


class SemisyncCluster(WiredCluster):
    """The first node is the source.

    Parameters
    ----------
    delays_s : matrix of float
        One-way delays in seconds.
    **how
        See ``WiredCluster``.
    """

    def __init__(self, delays_s: Sequence[Sequence[float]], **how: Any) -> None:
        super().__init__(Semisync, delays_s, **how)

    @property
    def quiet(self) -> bool:
        """Whether all replicas have applied all that the source has in its binary log."""
        source, *replicas = self.model.counters().values()
        written = source["Binlog_commits"]
        return all(replica["Executed_Gtid_Set"] == written for replica in replicas)
