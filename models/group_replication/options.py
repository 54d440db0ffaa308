"""Options and costs of MySQL Group Replication."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import ConfigDict, Field, model_validator

from simrep.modelling import (
    Factor,
    Host,
    MessageWork,
    Microseconds,
    Milliseconds,
    Nanoseconds,
    ScenarioError,
    SessionTable,
    prior,
    roles,
)
from simrep.models.mysql.options import (
    ApplierCosts,
    ApplierOptions,
    CrashSafety,
    Pipeline,
)

__all__ = [
    "MOST_TRANSACTIONS", "Consistency", "GroupReplicationCosts", "GroupReplicationOptions",
    "GroupReplicationSession", "waits_before",
]  # fmt: skip

Consistency = Literal[
    "EVENTUAL", "BEFORE_ON_PRIMARY_FAILOVER", "BEFORE", "AFTER", "BEFORE_AND_AFTER"
]
Release = Literal["5.7", "8.0", "8.4", "9"]
_PREFIX = "group_replication_"
_UNBOUNDED = 2147483647
MOST_TRANSACTIONS = 9223372036854775807
"""No member misses so many: ``clone_threshold`` where nobody has set it."""
_YEAR_S = 31536000


def _option(default: Any, description: str, least: Any = None, most: Any = None, **how: Any) -> Any:
    return Field(default, description=description, ge=least, le=most, **how)


def _variable(name: str) -> str:
    """The name of an option in the server: its own variables have a prefix."""
    return name if name in {"release", *ApplierOptions.model_fields} else _PREFIX + name


class GroupReplicationOptions(ApplierOptions):
    """Variables of all members, which are set alike; defaults of MySQL 9."""

    model_config = ConfigDict(alias_generator=_variable)

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
        "flow_control_min_recovery_quota": (0, "8.0"),
        "flow_control_max_quota": (0, "8.0"),
        "flow_control_member_quota_percent": (0, "8.0"),
        "preemptive_garbage_collection": (False, "8.4"),
        "member_expel_timeout": (0, "8.0"),
        "autorejoin_tries": (0, "8.0"),
        "message_cache_size": (1_073_741_824, "8.0"),
        "clone_threshold": (MOST_TRANSACTIONS, "8.0"),
    }

    release: Release = Field("9", description="version trait: of which release the variables are")
    single_primary_mode: bool = _option(True, "only the first node takes writes; else all do")
    consistency: Consistency = _option(
        "BEFORE_ON_PRIMARY_FAILOVER",
        "what transactions wait for, of all sessions (without failover, "
        "BEFORE_ON_PRIMARY_FAILOVER is EVENTUAL)",
    )
    paxos_single_leader: Annotated[bool, roles.SINGLE_LEADER] = _option(
        False, "only the primary has slots in the total order (in single-primary mode)"
    )
    write_concurrency: Annotated[int, roles.WRITE_CONCURRENCY] = _option(
        10,
        "message numbers that may be in use at a time (a function of the server, no variable)",
        10,
        200,
        alias=_PREFIX + "set_write_concurrency",
    )
    compression_threshold: int = _option(
        1_000_000,
        "messages of at least so many bytes are compressed (LZ4); 0: none are",
        0,
        4294967295,
    )
    max_message_size: int = _option(
        10_485_760,
        "larger messages travel in fragments; 0: they do not",
        0,
        1_073_741_824,
        alias=_PREFIX + "communication_max_message_size",
    )
    transaction_size_limit: int = _option(
        150_000_000, "largest transaction in bytes; a larger one fails; 0: no limit", 0, _UNBOUNDED
    )
    flow_control_mode: Literal["QUOTA", "DISABLED"] = _option(
        "QUOTA", "whether writers are slowed down when a member lags"
    )
    flow_control_period: int = _option(
        1, "seconds between two statistics messages of a member, and between two quotas", 1, 60
    )
    flow_control_certifier_threshold: int = _option(
        25_000,
        "transactions waiting for certification above which writers get a quota",
        0,
        _UNBOUNDED,
    )
    flow_control_applier_threshold: int = _option(
        25_000,
        "transactions waiting to be applied above which writers get a quota",
        0,
        _UNBOUNDED,
    )
    flow_control_hold_percent: int = _option(
        10, "how far the quota stays below the slowest member's capacity", 0, 100
    )
    flow_control_release_percent: int = _option(
        50, "growth of the quota per period when nobody lags; 0: it is lifted at once", 0, 1000
    )
    flow_control_min_quota: int = _option(
        0, "lowest capacity that is assumed; 0: 5 % of the smaller threshold", 0, _UNBOUNDED
    )
    flow_control_min_recovery_quota: int = _option(
        0,
        "the same while no member that applies lags, as one that recovers does not; 0: no other",
        0,
        _UNBOUNDED,
    )
    flow_control_max_quota: int = _option(0, "highest quota of the group; 0: none", 0, _UNBOUNDED)
    flow_control_member_quota_percent: int = _option(
        0, "share of the quota that a writer takes; 0: writers share it equally", 0, 100
    )
    preemptive_garbage_collection: bool = _option(
        False, "forget all write sets when there are too many (in single-primary mode)"
    )
    preemptive_garbage_collection_rows_threshold: int = _option(
        100_000, "how many those are", 10_000, 4294967295
    )
    member_expel_timeout: int = _option(
        5,
        "seconds for which an unreachable member is not expelled, at least: who expels looks "
        "every 15 s",
        0,
        3600,
    )
    unreachable_majority_timeout: int = _option(
        0, "seconds after which a member that reaches no majority leaves; 0: it waits", 0, _YEAR_S
    )
    exit_state_action: Literal["READ_ONLY", "OFFLINE_MODE", "ABORT_SERVER"] = _option(
        "OFFLINE_MODE",
        "what a server does that was expelled, or has left because of an error, and does not come "
        "back by itself",
    )
    autorejoin_tries: int = _option(
        3, "how often an expelled member tries to come back, every 5 minutes", 0, 2016
    )
    member_weight: int = _option(
        50, "of those that may become primary, the one with the highest weight does", 0, 100
    )
    message_cache_size: int = _option(
        1_073_741_824,
        "bytes of messages that members keep for others that may have missed them",
        134_217_728,
        18_446_744_073_709_551_615,
    )
    clone_threshold: int = _option(
        MOST_TRANSACTIONS,
        "a member that misses at least so many transactions gets a copy of all data instead",
        1,
        MOST_TRANSACTIONS,
    )
    recovery_retry_count: int = _option(
        10, "how often a joining member looks for a donor", 0, _YEAR_S
    )
    recovery_reconnect_interval: int = _option(
        60, "seconds of its pause when it has tried all donors", 0, _YEAR_S
    )
    start_on_boot: bool = _option(
        True,
        "a server that starts joins the group by itself; else it serves alone, and takes writes",
    )

    @model_validator(mode="after")
    def _known_to_this_release(self) -> Self:
        releases = get_args(Release)
        where = f"in release {self.release}"
        self.refuse(
            {
                name: (absent, where, f"there since {since}")
                for name, (absent, since) in self.since.items()
                if releases.index(self.release) < releases.index(since)
            }
        )
        return self

    @property
    def crash_safety(self) -> CrashSafety:
        """See ``ServerOptions.crash_safety``."""
        return "mysql-5.6" if self.release == "5.7" else "mysql-8.0"

    @property
    def waits_before(self) -> bool:
        """Transactions begin when all that was ordered before is applied."""
        return self.consistency in {"BEFORE", "BEFORE_AND_AFTER"}

    @property
    def waits_after(self) -> bool:
        """Transactions commit when all members have prepared them."""
        return self.consistency in {"AFTER", "BEFORE_AND_AFTER"}


def waits_before(options: GroupReplicationOptions, session: Any) -> bool:
    """Whether a transaction begins when all that was ordered before is applied."""
    if isinstance(session, GroupReplicationSession) and session.consistency is not None:
        return session.consistency == "BEFORE"
    return options.waits_before


class GroupReplicationSession(SessionTable):
    """What is not set has the value of the server's option."""

    consistency: Literal["EVENTUAL", "BEFORE"] | None = Field(
        None,
        alias=_PREFIX + "consistency",
        description="what its transactions wait for before they begin",
    )

    def check(self, options: Any) -> None:
        """See ``SessionTable.check``."""
        if self.consistency is not None and options.waits_after:
            raise ScenarioError(
                _PREFIX + "consistency",
                f"is not simulated for single sessions where all others have {options.consistency}",
                "set it for all: cluster.options." + _PREFIX + "consistency",
            )


class GroupReplicationCosts(ApplierCosts):
    """Those of a server that applies, and what the group costs it."""

    replicate_us: Annotated[Microseconds, prior.BUILD] = Field(
        20.0, description="CPU of the client's thread to build and hand over a message"
    )
    propose_us: Annotated[Microseconds, prior.HAND_OVER] = Field(
        10.0, description="CPU of XCom to propose a batch"
    )
    send_us: Annotated[Microseconds, prior.SEND] = Field(
        8.0, description="CPU of XCom per copy of a message sent"
    )
    receive_us: Annotated[Microseconds, prior.RECEIVE] = Field(
        15.0, description="CPU of XCom per message received"
    )
    byte_ns: Annotated[Nanoseconds, prior.BYTE] = Field(
        2.0, description="CPU per byte of a message received"
    )
    deliver_us: Annotated[Microseconds, prior.HAND_OVER] = Field(
        5.0, description="CPU to hand a delivered message to the applier module"
    )
    certify_us: Annotated[Microseconds, prior.CERTIFY] = Field(
        10.0, description="CPU to certify a transaction, without its write set"
    )
    certify_row_us: Annotated[Microseconds, prior.CERTIFY_KEY] = Field(
        1.0, description="CPU to certify an item of a write set"
    )
    garbage_ns: Annotated[Nanoseconds, prior.GARBAGE] = Field(
        150.0,
        description="CPU per item of certification info when it is looked through for garbage",
    )
    garbage_transaction_ns: Annotated[Nanoseconds, prior.GARBAGE_TRANSACTION] = Field(
        450.0,
        description="CPU then per transaction that is forgotten: its set of what was before it",
    )
    resume_us: Annotated[Microseconds, prior.HAND_OVER] = Field(
        10.0,
        description="CPU of the client's thread from the verdict to the queue of the binary log",
    )
    relay_log_us: Annotated[Microseconds, prior.HAND_OVER] = Field(
        10.0, description="CPU to write a transaction of another member to the relay log"
    )
    compress_byte_ns: Annotated[Nanoseconds, prior.COMPRESS_BYTE] = Field(
        2.0, description="CPU per byte compressed (LZ4: 1.5-3)"
    )
    decompress_byte_ns: Annotated[Nanoseconds, prior.DECOMPRESS_BYTE] = Field(
        0.5, description="CPU per byte decompressed (LZ4: 0.3-1)"
    )
    compression_ratio: Annotated[Factor, prior.COMPRESSION] = Field(
        3.4, description="how much smaller LZ4 makes row events (sysbench 3.4, mysqlslap 4.5)"
    )

    clone_byte_ns: Annotated[Nanoseconds, prior.COPY] = Field(
        1.9, description="disk: to read a byte of the data, and to write it on the member"
    )
    clone_thread_byte_ns: Annotated[Nanoseconds, prior.CLONE_THREAD] = Field(
        1.5, description="CPU of one of the four threads of clone for a byte, on both machines"
    )
    start_ms: Annotated[Milliseconds, prior.BOOT] = Field(
        1800.0, description="start of a server until it answers, and asks to join its group"
    )

    def message_work(self, host: Host) -> MessageWork:
        """What messages cost the thread of XCom on a machine."""
        send, receive = self.send_us * 1e-6, self.receive_us * 1e-6
        return MessageWork(host.routine(send), host.routine(receive), self.byte_ns * 1e-9)
