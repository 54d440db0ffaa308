"""Options, session variables and costs of the Galera model."""

from __future__ import annotations

import math
import re
from math import inf
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BeforeValidator, ConfigDict, Field, model_validator

from simrep.modelling import (
    Microseconds,
    Milliseconds,
    Nanoseconds,
    Reason,
    ScenarioError,
    SessionTable,
    prior,
    roles,
)
from simrep.models.galera.gcomm.suspicion import MembershipOptions
from simrep.models.mysql.options import ClientCosts, PoolBytes, size_in_bytes

from .sst_options import SstOptions

__all__ = ["GaleraCosts", "GaleraOptions", "GaleraSession"]

FragmentUnit = Literal["bytes", "rows", "statements"]

_ISO_SECONDS = re.compile(r"PT(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?")


def _seconds(value: Any) -> Any:
    """Galera writes periods as ISO 8601 durations, e.g. PT1S or PT0.5S."""
    if isinstance(value, str) and (match := _ISO_SECONDS.fullmatch(value)) and any(match.groups()):
        return 60.0 * float(match[1] or 0) + float(match[2] or 0)
    return value


def _iso(seconds: float) -> str:
    return f"PT{seconds:.6g}S"


def _check_streaming(options: Any, size: int) -> None:
    """Streaming replication came with Galera 4."""
    if size and not options.streaming_replication:
        raise ScenarioError(
            "wsrep_trx_fragment_size",
            f"this version has no streaming replication, given {size}",
            "Galera 4 has it: MariaDB 10.4 and later, PXC 8.0",
        )


# The provider itself asks for PT0.1S at least; with less there is more to see in a short run.
_PERIOD = Reason("from a millisecond to a day; the provider takes PT0.1S and more")
_Period = Annotated[
    float, Field(ge=0.001, le=86_400, allow_inf_nan=False), BeforeValidator(_seconds), _PERIOD
]
_Pause = Annotated[
    float, Field(ge=0, le=86_400, allow_inf_nan=False), BeforeValidator(_seconds), _PERIOD
]


_LEAST_S = 0.1  # of any period of the group communication (gcomm, defaults.cpp)
# With none of them in a scenario, the keepalive period is free: it matters only when nodes fail.
_TIMERS = {
    "suspect_timeout_s",
    "inactive_timeout_s",
    "inactive_check_period_s",
    "join_retrans_period_s",
    "install_timeout_s",
}


class GaleraOptions(SstOptions):
    """Options in the server's and the provider's own spelling; defaults of Galera 4."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    send_window: Annotated[int, roles.SEND_WINDOW] = Field(
        4,
        alias="evs.send_window",
        ge=1,
        le=2147483647,
        description="sequence numbers in flight when the output queue is flushed",
    )
    user_send_window: Annotated[int, roles.IDLE_SEND_WINDOW] = Field(
        2,
        alias="evs.user_send_window",
        ge=1,
        le=2147483647,
        description="sequence numbers in flight for a message that meets an empty queue",
    )
    use_aggregate: bool = Field(
        True, alias="evs.use_aggregate", description="pack queued messages up to the mtu"
    )
    keepalive_period_s: _Period = Field(
        1.0,
        alias="evs.keepalive_period",
        description="every node sends an empty ordered message this often (ISO 8601 or seconds)",
    )
    suspect_timeout_s: _Period = Field(
        5.0,
        alias="evs.suspect_timeout",
        description="a node without progress for so long is suspected (ISO 8601 or seconds)",
    )
    inactive_timeout_s: _Period = Field(
        15.0,
        alias="evs.inactive_timeout",
        description="a node without progress for so long is taken for dead, whatever it sends",
    )
    inactive_check_period_s: _Period = Field(
        0.5,
        alias="evs.inactive_check_period",
        description="every node looks this often who is silent",
    )
    join_retrans_period_s: _Period = Field(
        1.0,
        alias="evs.join_retrans_period",
        description="join messages are repeated this often while the view changes",
    )
    install_timeout_s: Annotated[float | None, BeforeValidator(_seconds), _PERIOD] = Field(
        None,
        alias="evs.install_timeout",
        ge=0.001,
        le=86_400,
        allow_inf_nan=False,
        description="who does not agree on a view within this time is taken for dead; default: "
        "half of evs.inactive_timeout",
    )
    max_install_timeouts: int = Field(
        3,
        alias="evs.max_install_timeouts",
        ge=0,
        le=2147483647,
        description="how often that may happen before a node isolates itself",
    )
    auto_evict: int = Field(
        0,
        alias="evs.auto_evict",
        ge=0,
        le=2147483647,
        description="a node that was delayed so often (at least twice) is evicted, if most of the "
        "others agree; 0: never. Delays are counted up to 255",
    )
    delay_margin_s: _Pause = Field(
        1.0,
        alias="evs.delay_margin",
        description="with evs.auto_evict, a node not heard of for this and a keepalive period is "
        "delayed",
    )
    delayed_keep_period_s: _Pause = Field(
        30.0,
        alias="evs.delayed_keep_period",
        description="a delay is forgotten after so long without another",
    )
    announce_timeout_s: _Pause = Field(
        3.0,
        alias="pc.announce_timeout",
        description="how long a node that starts looks for others",
    )
    linger_s: _Pause = Field(
        20.0,
        alias="pc.linger",
        description="how long a node that leaves waits for the others",
    )
    peer_timeout_s: _Period = Field(
        3.0,
        alias="gmcast.peer_timeout",
        description="a link on which nothing comes for so long is closed (ISO 8601 or seconds)",
    )
    time_wait_s: _Period = Field(
        5.0,
        alias="gmcast.time_wait",
        description="a process that has left may not connect for so long, one that was lost half "
        "as long (ISO 8601 or seconds)",
    )
    weight: int = Field(
        1,
        alias="pc.weight",
        ge=0,
        le=255,
        description="what a node counts when a part of the group asks whether it is the majority; "
        "a node may have its own",
    )
    ignore_sb: bool = Field(
        False, alias="pc.ignore_sb", description="half of the weight is enough to go on"
    )
    ignore_quorum: bool = Field(
        False,
        alias="pc.ignore_quorum",
        description="any part of the group goes on: there may be several",
    )
    recovery: bool = Field(
        True,
        alias="pc.recovery",
        description="servers that have crashed know from gvwstate.dat who they were, and go on by "
        "themselves when all are back",
    )
    sync_wait: int = Field(
        0,
        alias="wsrep_sync_wait",
        ge=0,
        le=15,
        description="what waits until its node has committed all that others have been told, by "
        "bits: 1 reads and BEGIN, 2 UPDATE and DELETE, 4 INSERT; 8, SHOW, changes nothing here",
    )
    causal_read_timeout_s: _Period = Field(
        30.0,
        alias="repl.causal_read_timeout",
        description="such a wait fails after so long (ISO 8601 or seconds)",
    )
    causal_keepalive_period_s: Annotated[float | None, BeforeValidator(_seconds), _PERIOD] = Field(
        None,
        alias="evs.causal_keepalive_period",
        ge=0,
        le=86_400,
        allow_inf_nan=False,
        description="such a wait asks the group itself if that was not done for so long; 0: "
        "always; default: evs.keepalive_period",
    )
    dirty_reads: bool = Field(
        False,
        alias="wsrep_dirty_reads",
        description="a node outside the primary component still answers what only reads",
    )
    fc_limit: Annotated[int, roles.FLOW_CONTROL_LIMIT] = Field(
        16,
        alias="gcs.fc_limit",
        ge=0,
        le=2147483647,
        description="receive queue length that stops the cluster (times sqrt(n))",
    )
    fc_factor: float = Field(
        1.0,
        alias="gcs.fc_factor",
        ge=0,
        le=1,
        description="fraction of the limit at which the cluster continues",
    )
    fc_master_slave: bool = Field(
        False,
        validation_alias=AliasChoices("gcs.fc_master_slave", "gcs.fc_single_primary"),
        serialization_alias="gcs.fc_master_slave",
        description="do not scale the limit with sqrt(n)",
    )
    applier_threads: Annotated[int, roles.APPLIERS] = Field(
        1,
        validation_alias=AliasChoices("wsrep_slave_threads", "wsrep_applier_threads"),
        serialization_alias="wsrep_slave_threads",
        ge=1,
        le=512,
        description="threads that apply the writesets of other nodes",
    )
    retry_autocommit: int = Field(
        1,
        alias="wsrep_retry_autocommit",
        ge=0,
        le=10000,
        description="how often an autocommit statement is retried after a conflict",
    )
    max_ws_size: int = Field(
        2147483647,
        validation_alias=AliasChoices("wsrep_max_ws_size", "repl.max_ws_size"),
        serialization_alias="wsrep_max_ws_size",
        ge=1024,
        le=2147483647,
        description="largest writeset in bytes; a larger transaction fails",
    )
    max_ws_rows: int = Field(
        0,
        alias="wsrep_max_ws_rows",
        ge=0,
        le=1048576,
        description="rows that a transaction may write; 0: any number",
    )
    load_data_splitting: bool = Field(
        False, alias="wsrep_load_data_splitting", description="LOAD DATA commits every 10,000 rows"
    )
    fragment_unit: FragmentUnit = Field(
        "bytes",
        alias="wsrep_trx_fragment_unit",
        description="what wsrep_trx_fragment_size counts: bytes, rows or statements",
    )
    fragment_size: int = Field(
        0,
        alias="wsrep_trx_fragment_size",
        ge=0,
        le=2147483647,
        description="units after which a transaction replicates a fragment; 0: no streaming "
        "replication",
    )
    commit_order: int = Field(
        3,
        alias="repl.commit_order",
        ge=0,
        le=3,
        description="3: all commit in order; 2: those of local clients need not; 1, 0: none need "
        "(unsafe)",
    )
    innodb_buffer_pool_size: PoolBytes = None
    innodb_lock_wait_timeout: int = Field(
        50, ge=1, le=1073741824, description="seconds after which a wait for a row lock fails"
    )
    flush_log_at_trx_commit: Annotated[int, roles.REDO_DURABILITY] = Field(
        1,
        alias="innodb_flush_log_at_trx_commit",
        ge=0,
        le=2,
        description="redo log: 0 nothing at commit, 1 write and fsync, 2 write",
    )
    annotate_rows: bool = Field(
        True,
        alias="binlog_annotate_row_events",
        description="writesets carry the text of their statements, too (MariaDB)",
    )
    gcache_bytes: Annotated[int, BeforeValidator(size_in_bytes)] = Field(
        128 << 20,
        alias="gcache.size",
        ge=1,
        le=1 << 50,
        description="writesets that a node keeps for others that miss them, in bytes (128M)",
    )
    gcache_recover: bool = Field(
        True, alias="gcache.recover", description="it has them still when its server starts again"
    )
    sync_donor: bool = Field(
        False,
        alias="gcs.sync_donor",
        description="a donor stops the cluster too when its receive queue is too long",
    )
    sst_donor: str = Field(
        "",
        alias="wsrep_sst_donor",
        description="names of nodes that are to be donors if they can, with commas",
    )
    ftwrl_desyncs: bool = Field(
        True,
        description="version trait: FLUSH TABLES WITH READ LOCK takes its node out of flow control "
        "(MW-252, MySQL 5.6.29 with Galera 3.15); else its queue stops the whole cluster",
    )
    non_blocking_operations: bool = Field(
        False, description="version trait: wsrep_OSU_method may be NBO (PXC 8.0.25 and later)"
    )
    ordered_views: bool = Field(
        True,
        description="version trait: a view takes a sequence number, so that a node which was away "
        "for one lacks something in any case (Galera 4)",
    )
    commit_monitor_through_flush: bool = Field(
        False,
        description="version trait: the commit monitor is held until the redo log is flushed "
        "(Galera 3; there is no group commit then)",
    )
    streaming_replication: bool = Field(
        True, description="version trait: there is streaming replication (Galera 4)"
    )
    gap_when_blocked: bool = Field(
        True,
        description="version trait: a node whose window is exhausted still acknowledges "
        "(25.3.22 and later)",
    )
    output_queue_messages: int = Field(
        0,
        ge=0,
        le=2147483647,
        description="version trait: output queue limit in messages (0: 1 MiB instead, and an "
        "answer asked for every 128 KiB: 25.3.29 and later)",
    )

    @model_validator(mode="after")
    def _known_to_this_version(self) -> Self:
        _check_streaming(self, self.fragment_size)
        self.check_sst()
        if self.model_fields_set & _TIMERS:
            self.check_timers()
        return self

    def check_timers(self) -> None:
        """Refuse timers with which the provider does not start (``evs_proto.cpp``, constructor).

        Raises
        ------
        ScenarioError
            For the first of them.
        """
        suspect, keepalive = self.suspect_timeout_s, self.keepalive_period_s
        install, inactive = self.membership().install_timeout_s, self.inactive_timeout_s
        third = f"a third of evs.suspect_timeout ({_iso(suspect / 3)})"
        legal = (
            f"set it to {_iso(math.floor(suspect / 3 * 100) / 100)}, or a longer suspect timeout"
        )
        if suspect < 3 * _LEAST_S:
            legal = f"the shortest legal evs.suspect_timeout is {_iso(3 * _LEAST_S)}"
        for name, value, least, most, bound, help_ in (
            ("evs.suspect_timeout", suspect, _LEAST_S, inf, "", ""),
            ("evs.inactive_timeout", inactive, _LEAST_S, inf, "", ""),
            ("evs.join_retrans_period", self.join_retrans_period_s, _LEAST_S, inf, "", ""),
            (
                "evs.inactive_check_period", self.inactive_check_period_s, 0.0, suspect / 2,
                f"half of evs.suspect_timeout ({_iso(suspect / 2)})",
                f"set it to {_iso(suspect / 2)} or less",
            ),
            ("evs.keepalive_period", keepalive, _LEAST_S, suspect / 3, third, legal),
            (
                "evs.install_timeout", install, keepalive, inactive,
                f"evs.inactive_timeout ({_iso(inactive)})",
                "it lies between evs.keepalive_period and evs.inactive_timeout",
            ),
        ):  # fmt: skip
            if value < least * (1 - 1e-12):
                limit = f"{_iso(least)} at least"
            elif value > most * (1 + 1e-12):
                limit = f"at most {bound}"
            else:
                continue
            raise ScenarioError(name, f"the provider takes {limit}, given {_iso(value)}", help_)

    def membership(self) -> MembershipOptions:
        """The timers of the group communication."""
        install = self.install_timeout_s
        return MembershipOptions(
            suspect_timeout_s=self.suspect_timeout_s,
            inactive_timeout_s=self.inactive_timeout_s,
            inactive_check_period_s=self.inactive_check_period_s,
            keepalive_period_s=self.keepalive_period_s,
            join_retrans_period_s=self.join_retrans_period_s,
            install_timeout_s=self.inactive_timeout_s / 2 if install is None else install,
            max_install_timeouts=self.max_install_timeouts,
            auto_evict=self.auto_evict,
            delay_margin_s=self.delay_margin_s,
            delayed_keep_period_s=self.delayed_keep_period_s,
            announce_timeout_s=self.announce_timeout_s,
            linger_s=self.linger_s,
        )


class GaleraSession(SessionTable):
    """What is not set has the value of the server's option."""

    fragment_unit: FragmentUnit | None = Field(
        None, alias="wsrep_trx_fragment_unit", description="bytes, rows or statements"
    )
    fragment_size: int | None = Field(
        None,
        alias="wsrep_trx_fragment_size",
        ge=0,
        le=2147483647,
        description="units after which a fragment is replicated; 0: no streaming replication",
    )
    sync_wait: int | None = Field(
        None,
        alias="wsrep_sync_wait",
        ge=0,
        le=15,
        description="what waits until its node has committed all that others have been told",
    )

    def check(self, options: Any) -> None:
        """See ``SessionTable.check``."""
        _check_streaming(options, self.fragment_size or 0)


class GaleraCosts(ClientCosts):
    """What things cost on a machine of the cluster: the content of a calibrated pack."""

    replicate_us: Annotated[Microseconds, prior.BUILD] = Field(
        10.0, description="CPU to build and hand over a writeset"
    )
    byte_ns: Annotated[Nanoseconds, prior.BYTE] = Field(
        2.0, description="CPU per byte of a message received"
    )
    send_us: Annotated[Microseconds, prior.SEND] = Field(
        8.0, description="CPU per copy of a message sent"
    )
    receive_us: Annotated[Microseconds, prior.RECEIVE] = Field(
        15.0, description="CPU per message received"
    )
    action_us: Annotated[Microseconds, prior.HAND_OVER] = Field(
        8.0, description="CPU of the receive thread per writeset"
    )
    certify_us: Annotated[Microseconds, prior.CERTIFY] = Field(
        5.0, description="CPU to certify a writeset, without its keys"
    )
    certify_key_us: Annotated[Microseconds, prior.CERTIFY_KEY] = Field(
        1.0, description="CPU to certify a key"
    )
    key_miss_us: Annotated[Microseconds, prior.KEY_MISS] = Field(
        0.4,
        description="more CPU for every key beyond 10,000 of a writeset, whose tables do not fit "
        "the caches: to build it, and to certify it",
    )
    apply_us: Annotated[Microseconds, prior.APPLY] = Field(
        40.0, description="CPU to apply a writeset, without its rows"
    )
    apply_row_us: Annotated[Microseconds, prior.ROW] = Field(5.0, description="CPU to apply a row")
    commit_us: Annotated[Microseconds, prior.COMMIT] = Field(
        20.0, description="CPU to commit, in commit order"
    )
    log_write_us: Annotated[Microseconds, prior.LOG_WRITE] = Field(
        5.0, description="write of the redo log, not synced"
    )
    fsync_us: Annotated[Microseconds, prior.FSYNC] = Field(
        150.0, description="one fsync of the redo log, without what it needs of a core"
    )
    fsync_work_us: Annotated[Microseconds, prior.FSYNC_WORK] = Field(
        0.0,
        description="CPU of an fsync beside that, in the server: system call, file system, driver, "
        "and to sleep and be woken; 0: as the machine has it",
    )
    log_row_us: Annotated[Microseconds, prior.LOG_ROW] = Field(
        30.0, description="CPU to store or number a row of wsrep_streaming_log"
    )
    log_removal_us: Annotated[Microseconds, prior.LOG_REMOVAL] = Field(
        10.0, description="CPU to remove a row of wsrep_streaming_log"
    )
    log_byte_ns: Annotated[Nanoseconds, prior.LOG_BYTE] = Field(
        3.0, description="CPU per byte of a fragment to store it in wsrep_streaming_log"
    )
    switch_us: Annotated[Microseconds, prior.SWITCH] = Field(
        3.0, description="CPU of a context switch to a woken thread"
    )
    keepalive_spread_ms: Annotated[Milliseconds, prior.KEEPALIVE_SPREAD] = Field(
        1.0, description="how far apart the nodes' keepalives fall within a period"
    )
    recover_ms: Annotated[Milliseconds, prior.RECOVER] = Field(
        1000.0, description="start of a killed server that only tells its position (wsrep-recover)"
    )
    start_ms: Annotated[Milliseconds, prior.START] = Field(
        400.0, description="start of a server until it asks for its group"
    )
    sst_script_ms: Annotated[Milliseconds, prior.SCRIPT] = Field(
        400.0, description="a joiner's script until it can receive"
    )
    sst_bypass_ms: Annotated[Milliseconds, prior.SCRIPT] = Field(
        400.0, description="a donor's script until it has found what there is to copy"
    )
    engine_start_ms: Annotated[Milliseconds, prior.ENGINE] = Field(
        1900.0, description="end of a joiner's script, and start of its storage engine"
    )
    sst_byte_ns: Annotated[Nanoseconds, prior.COPY] = Field(
        4.0, description="disk: to read a byte of the data, and to write it on the joiner"
    )
    sst_prepare_ms: Annotated[Milliseconds, prior.PREPARE] = Field(
        5000.0,
        description="to make a state of a copy that was made without standing still, beside its "
        "redo log",
    )
    sst_rsync_byte_ns: Annotated[Nanoseconds, prior.RSYNC] = Field(
        3.2, description="CPU of rsync for a byte, on the donor and on the joiner (3.2 and later)"
    )
    sst_backup_byte_ns: Annotated[Nanoseconds, prior.BACKUP_TOOL] = Field(
        1.9, description="CPU of mariabackup or xtrabackup for a byte"
    )
    sst_socat_byte_ns: Annotated[Nanoseconds, prior.SOCAT] = Field(
        0.8, description="CPU of socat for a byte that is sent, on both machines"
    )
    sst_tls_byte_ns: Annotated[Nanoseconds, prior.TLS] = Field(
        0.7, description="CPU for a byte that is sent through TLS, on both machines"
    )
    sst_extract_byte_ns: Annotated[Nanoseconds, prior.EXTRACT] = Field(
        1.5, description="CPU of mbstream or xbstream on the joiner for a byte"
    )
    sst_clone_byte_ns: Annotated[Nanoseconds, prior.CLONE_THREAD] = Field(
        1.5, description="CPU of one of the four threads of clone for a byte, on both machines"
    )
    sst_redo_byte_ns: Annotated[Nanoseconds, prior.REDO] = Field(
        10.0, description="CPU of the joiner for a byte of redo log written during a backup"
    )
