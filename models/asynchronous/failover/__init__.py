"""Failover managers: programs beside the servers that make a replica the source."""

from .manager import FailoverManager, check_place, manager_of
from .phases import failover_phases
from .presets import PRESETS, Asks, ManagerName, ManagerRules, rules_of
from .servers import ReplicaReport, Servers

__all__ = [
    "PRESETS",
    "Asks",
    "FailoverManager",
    "ManagerName",
    "ManagerRules",
    "ReplicaReport",
    "Servers",
    "check_place",
    "failover_phases",
    "manager_of",
    "rules_of",
]
