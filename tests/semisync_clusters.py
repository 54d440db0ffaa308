"""Sources and semi-synchronous replicas wired by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simrep.contract.cluster import Cluster
from simrep.models.semisync import Semisync
from simrep.models.semisync.options import SemisyncCosts, SemisyncOptions
from tests.wired import Wired, free

__all__ = ["SemisyncCluster"]


class SemisyncCluster(Wired):
    """The first node is the source.

    Parameters
    ----------
    delays_s : matrix of float
        One-way delays in seconds.
    options, costs : mapping, optional
        Options in the product's spelling; costs that are not 0.
    **how
        See ``Wired``.
    """

    def __init__(
        self,
        delays_s: Sequence[Sequence[float]],
        *,
        options: Mapping[str, Any] | None = None,
        costs: Mapping[str, float] | None = None,
        **how: Any,
    ) -> None:
        self._options = SemisyncOptions(**options or {})
        nothing = free(SemisyncCosts) | {"disk_mb_per_s": 1e9}
        self._costs = SemisyncCosts(**nothing | dict(costs or {}))
        super().__init__(delays_s, **how)

    def _build(self, cluster: Cluster) -> Semisync:
        return Semisync(cluster, self._options, self._costs)

    @property
    def quiet(self) -> bool:
        """Whether all replicas have applied all that the source has in its binary log."""
        source, *replicas = self.model.counters().values()
        written = source["Binlog_commits"]
        return all(replica["Executed_Gtid_Set"] == written for replica in replicas)
