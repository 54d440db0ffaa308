"""What a copy of all data costs: programs on donor and joiner, disks, and waits of scripts.

Work is that of one thread for a byte of the data, unless it says otherwise. Where the prior names a
row of a published table, the default was fitted to it.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from simrep.modelling import Milliseconds, Nanoseconds, prior
from simrep.models.mysql.options import ClientCosts

__all__ = ["SstCosts"]


class SstCosts(ClientCosts):
    """Costs of a state snapshot transfer."""

    sst_script_ms: Annotated[Milliseconds, prior.SCRIPT] = Field(
        400.0, description="a joiner's script until it can receive"
    )
    sst_bypass_ms: Annotated[Milliseconds, prior.SCRIPT] = Field(
        400.0, description="a donor's script until it has found what there is to copy"
    )
    sst_byte_ns: Annotated[Nanoseconds, prior.COPY] = Field(
        4.0, description="disk: to read a byte of the data, and to write it on the joiner"
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
    sst_prepare_ms: Annotated[Milliseconds, prior.PREPARE] = Field(
        5000.0,
        description="to make a state of a copy that was made without standing still, beside its "
        "redo log",
    )
    sst_redo_byte_ns: Annotated[Nanoseconds, prior.REDO] = Field(
        10.0, description="CPU of the joiner for a byte of redo log written during a backup"
    )
