"""Options and costs of MySQL Group Replication."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import Field, model_validator

from simrep.modelling import ProblemsError, ScenarioError, prior, roles, spellings
from simrep.models.mysql.options import ApplierCosts, ApplierOptions, Pipeline, as_set

__all__ = ["Consistency", "GroupReplicationCosts", "GroupReplicationOptions"]

Consistency = Literal[
    "EVENTUAL", "BEFORE_ON_PRIMARY_FAILOVER", "BEFORE", "AFTER", "BEFORE_AND_AFTER"
]
Release = Literal["5.7", "8.0", "8.4", "9"]
_PREFIX = "group_replication_"
_UNBOUNDED = 2147483647


def _option(name: str, default: Any, description: str, **bounds: Any) -> Any:
    return Field(default, alias=_PREFIX + name, description=description, **bounds)


class GroupReplicationOptions(ApplierOptions):
    """Variables of all members, which are set alike; defaults of MySQL 9."""

    only_with: ClassVar[dict[str, tuple[Any, tuple[Pipeline, ...]]]] = {
        **ApplierOptions.only_with,
        "commit_pipeline": ("mysql-5.7", ("mysql-5.7",)),
    }

    # Variables that older releases do not have: what their absence amounts to, and since when.
    since: ClassVar[dict[str, tuple[Any, Release]]] = {
        "consistency": ("EVENTUAL", "8.0"),
        "paxos_single_leader": (False, "8.0"),
        "write_concurrency": (10, "8.0"),
        "max_message_size": (0, "8.0"),
        "flow_control_period": (1, "8.0"),
        "flow_control_hold_percent": (10, "8.0"),
        "flow_control_release_percent": (50, "8.0"),
        "flow_control_min_quota": (0, "8.0"),
        "flow_control_max_quota": (0, "8.0"),
        "flow_control_member_quota_percent": (0, "8.0"),
        "preemptive_garbage_collection": (False, "8.4"),
    }

    release: Release = Field("9", description="version trait: of which release the variables are")
    single_primary_mode: bool = _option(
        "single_primary_mode", True, "only the first node takes writes; else all do"
    )
    consistency: Consistency = _option(
        "consistency",
        "BEFORE_ON_PRIMARY_FAILOVER",
        "what transactions wait for, of all sessions (without failover, "
        "BEFORE_ON_PRIMARY_FAILOVER is EVENTUAL)",
    )
    paxos_single_leader: Annotated[bool, roles.SINGLE_LEADER] = _option(
        "paxos_single_leader",
        False,
        "only the primary has slots in the total order (in single-primary mode)",
    )
    write_concurrency: Annotated[int, roles.WRITE_CONCURRENCY] = _option(
        "set_write_concurrency",
        10,
        "message numbers that may be in use at a time (a function of the server, no variable)",
        ge=10,
        le=200,
    )
    compression_threshold: int = _option(
        "compression_threshold",
        1_000_000,
        "messages of at least so many bytes are compressed (LZ4); 0: none are",
        ge=0,
        le=4294967295,
    )
    max_message_size: int = _option(
        "communication_max_message_size",
        10_485_760,
        "larger messages travel in fragments; 0: they do not",
        ge=0,
        le=1_073_741_824,
    )
    transaction_size_limit: int = _option(
        "transaction_size_limit",
        150_000_000,
        "largest transaction in bytes; a larger one fails; 0: no limit",
        ge=0,
        le=_UNBOUNDED,
    )
    flow_control_mode: Literal["QUOTA", "DISABLED"] = _option(
        "flow_control_mode", "QUOTA", "whether writers are slowed down when a member lags"
    )
    flow_control_period: int = _option(
        "flow_control_period",
        1,
        "seconds between two statistics messages of a member, and between two quotas",
        ge=1,
        le=60,
    )
    flow_control_certifier_threshold: int = _option(
        "flow_control_certifier_threshold",
        25_000,
        "transactions waiting for certification that trigger flow control; 0: none do",
        ge=0,
        le=_UNBOUNDED,
    )
    flow_control_applier_threshold: int = _option(
        "flow_control_applier_threshold",
        25_000,
        "transactions waiting to be applied that trigger flow control; 0: none do",
        ge=0,
        le=_UNBOUNDED,
    )
    flow_control_hold_percent: int = _option(
        "flow_control_hold_percent",
        10,
        "how far the quota stays below the slowest member's capacity",
        ge=0,
        le=100,
    )
    flow_control_release_percent: int = _option(
        "flow_control_release_percent",
        50,
        "growth of the quota per period when nobody lags; 0: it is lifted at once",
        ge=0,
        le=1000,
    )
    flow_control_min_quota: int = _option(
        "flow_control_min_quota",
        0,
        "lowest capacity that is assumed; 0: 5 % of the smaller threshold",
        ge=0,
        le=_UNBOUNDED,
    )
    flow_control_max_quota: int = _option(
        "flow_control_max_quota", 0, "highest quota of the group; 0: none", ge=0, le=_UNBOUNDED
    )
    flow_control_member_quota_percent: int = _option(
        "flow_control_member_quota_percent",
        0,
        "share of the quota that a writer takes; 0: writers share it equally",
        ge=0,
        le=100,
    )
    preemptive_garbage_collection: bool = _option(
        "preemptive_garbage_collection",
        False,
        "forget all write sets when there are too many (in single-primary mode)",
    )
    preemptive_garbage_collection_rows_threshold: int = _option(
        "preemptive_garbage_collection_rows_threshold",
        100_000,
        "how many those are",
        ge=10_000,
        le=4294967295,
    )

    @model_validator(mode="after")
    def _known_to_this_release(self) -> Self:
        releases = get_args(Release)
        found = []
        for name, (absent, since) in self.since.items():
            given = getattr(self, name)
            if given != absent and releases.index(self.release) < releases.index(since):
                field = type(self).model_fields[name]
                found.append(
                    ScenarioError(
                        spellings(name, field)[0],
                        f"does not exist in release {self.release}, given {as_set(given)}",
                        f"there since {since}; without it, the server does what {as_set(absent)} "
                        "means",
                    )
                )
        if found:
            raise ProblemsError(found)
        return self

    @property
    def waits_before(self) -> bool:
        """Transactions begin when all that was ordered before is applied."""
        return self.consistency in {"BEFORE", "BEFORE_AND_AFTER"}

    @property
    def waits_after(self) -> bool:
        """Transactions commit when all members have prepared them."""
        return self.consistency in {"AFTER", "BEFORE_AND_AFTER"}


class GroupReplicationCosts(ApplierCosts):
    """Those of a server that applies, and what the group costs it."""

    replicate_us: Annotated[float, prior.BUILD] = Field(
        20.0, ge=0, description="CPU of the client's thread to build and hand over a message"
    )
    propose_us: Annotated[float, prior.HAND_OVER] = Field(
        10.0, ge=0, description="CPU of XCom to propose a batch"
    )
    send_us: Annotated[float, prior.SEND] = Field(
        8.0, ge=0, description="CPU of XCom per copy of a message sent"
    )
    receive_us: Annotated[float, prior.RECEIVE] = Field(
        15.0, ge=0, description="CPU of XCom per message received"
    )
    byte_ns: Annotated[float, prior.BYTE] = Field(
        2.0, ge=0, description="CPU per byte of a message received"
    )
    deliver_us: Annotated[float, prior.HAND_OVER] = Field(
        5.0, ge=0, description="CPU to hand a delivered message to the applier module"
    )
    certify_us: Annotated[float, prior.CERTIFY] = Field(
        10.0, ge=0, description="CPU to certify a transaction, without its write set"
    )
    certify_row_us: Annotated[float, prior.CERTIFY_KEY] = Field(
        1.0, ge=0, description="CPU to certify an item of a write set"
    )
    garbage_ns: Annotated[float, prior.GARBAGE] = Field(
        100.0,
        ge=0,
        description="CPU per item of certification info when it is looked through for garbage",
    )
    resume_us: Annotated[float, prior.HAND_OVER] = Field(
        10.0,
        ge=0,
        description="CPU of the client's thread from the verdict to the queue of the binary log",
    )
    relay_log_us: Annotated[float, prior.HAND_OVER] = Field(
        10.0, ge=0, description="CPU to write a transaction of another member to the relay log"
    )
    compress_byte_ns: Annotated[float, prior.COMPRESS_BYTE] = Field(
        2.0, ge=0, description="CPU per byte compressed (LZ4: 1.5-3)"
    )
    decompress_byte_ns: Annotated[float, prior.DECOMPRESS_BYTE] = Field(
        0.5, ge=0, description="CPU per byte decompressed (LZ4: 0.3-1)"
    )
    compression_ratio: Annotated[float, prior.COMPRESSION] = Field(
        3.4, ge=1, description="how much smaller LZ4 makes row events (sysbench 3.4, mysqlslap 4.5)"
    )
