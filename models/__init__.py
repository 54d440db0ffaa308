"""Models of products, a folder each; ``mysql`` holds what several of them share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for the type checker, which sees here that all of them keep the contract
    from simrep.modelling import Model
    from simrep.models.asynchronous import Asynchronous
    from simrep.models.galera import Galera
    from simrep.models.group_replication import GroupReplication
    from simrep.models.semisync import Semisync
    from simrep.models.standalone import Standalone

    SHIPPED: list[type[Model]] = [Asynchronous, Galera, GroupReplication, Semisync, Standalone]
