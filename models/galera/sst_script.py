"""The scripts that copy all data of a donor to a node: what they wait for, and what cores they use.

``rsync`` sends the files as they lie on the donor, which stands still meanwhile. A backup
(``mariabackup``, ``xtrabackup-v2``) is a pipe: the tool, maybe a compressor, and ``socat`` on the
donor; ``socat``, maybe a decompressor, and ``mbstream`` on the joiner, which then decompresses what
the tool itself has compressed, and prepares: it applies the redo log that was written meanwhile.
``clone`` is in the server. Every program is a thread, or several, that competes for the cores of
its machine. A thread of a backup tool reads a piece past the cache of the kernel and then works on
it; for the others the kernel reads ahead.

Simplified: all data are in one database (``rsync`` runs once for each), and the joiner writes as
fast as the donor reads. Programs start at once: the five runs of ``rsync`` before that of the data
take 1 s on a busy machine. What a backup applies changes one page for each writeset.

References
----------
MariaDB 11.8 ``scripts/wsrep_sst_rsync.sh``, ``wsrep_sst_mariabackup.sh``; Percona XtraDB Cluster
``scripts/wsrep_sst_xtrabackup-v2.sh``: pipes, pauses, and how often they look. "Performance
evaluation of SST data transfer: without encryption", Percona's blog, 2017-03-29: 122 GB from an SSD
of 530 MB/s over 10 Gbit/s take about 230 s with tar, twice that with a backup by one thread, three
times with ``rsync``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Final

from simrep.modelling import CopyCosts, Program

from .compression import BUILT_IN, Compression, compression_of
from .options import GaleraCosts, GaleraOptions
from .sst_options import BACKUPS

__all__ = ["SstScript"]

_NS: Final = 1e-9
_CLONE_THREADS: Final = 4

_PAUSE_S: Final = 10.0  # "Sleeping before data transfer for SST"
_FLUSH_POLL_S: Final = 0.2  # the donor's script looks whether the server stands still
_DONE_POLL_S: Final = 1.0  # the joiner's script looks whether rsync is done
_REDO: Final = 1.4  # bytes of redo log for a byte of writesets: 530 for one row of 162, measured
_PREPARES_WITH: Final = 100 << 20  # --use-memory of the tools
_PAGE_BYTES: Final = 16 << 10


@dataclass(frozen=True, slots=True)
class SstScript:
    """What a method does with so much data: times in seconds.

    Attributes
    ----------
    name : str
        The method, and how it compresses.
    data_bytes : float
    blocks : bool
        Whether the donor stands still.
    costs : CopyCosts
    pause_s : float
        The donor waits so long before it copies.
    flush_poll_s, done_poll_s : float
        How often a script looks whether the donor stands still, and whether all has arrived; 0: it
        is told.
    unpack : CopyCosts or None
        What the joiner decompresses when all has arrived.
    prepare_s, redo_byte_s, page_read_s : float
        To prepare: in any case, for a byte of redo log, and to read a page, if that is told.
    memory_bytes : float
        With which it prepares.
    """

    name: str
    data_bytes: float
    blocks: bool
    costs: CopyCosts
    pause_s: float = 0.0
    flush_poll_s: float = 0.0
    done_poll_s: float = 0.0
    unpack: CopyCosts | None = None
    prepare_s: float = 0.0
    redo_byte_s: float = 0.0
    page_read_s: float = 0.0
    memory_bytes: float = _PREPARES_WITH

    @staticmethod
    def of(options: GaleraOptions, costs: GaleraCosts, data_bytes: float, cores: int) -> SstScript:
        """The one that is set, on machines with so many cores."""
        method = options.sst_method
        disk_byte_s = costs.sst_byte_ns * _NS
        tls_ns = costs.sst_tls_byte_ns if options.sst_encrypt else 0.0
        if method == "rsync":
            end = Program((costs.sst_rsync_byte_ns + tls_ns) * _NS)
            return SstScript(
                name=method + ", TLS" * bool(options.sst_encrypt),
                data_bytes=data_bytes, blocks=True,
                costs=CopyCosts(disk_byte_s, (end, _SENDS), far_programs=(end,)),
                flush_poll_s=_FLUSH_POLL_S, done_poll_s=_DONE_POLL_S,
            )  # fmt: skip
        prepare_s = costs.sst_prepare_ms * 1e-3
        if method not in BACKUPS:
            end = Program(costs.sst_clone_byte_ns * _NS, _CLONE_THREADS)
            return SstScript(
                name=method, data_bytes=data_bytes, blocks=False,
                costs=CopyCosts(disk_byte_s, (end, _SENDS), far_programs=(end,)),
                prepare_s=prepare_s,
            )  # fmt: skip
        return replace(
            _backup(options, costs, tls_ns, data_bytes, cores),
            prepare_s=prepare_s,
            redo_byte_s=costs.sst_redo_byte_ns * _NS,
            page_read_s=(
                0.0 if options.innodb_buffer_pool_size is None else costs.page_read_us * 1e-6
            ),
            memory_bytes=options.sst_use_memory or _usual_memory(options),
        )

    def prepares_s(self, writesets: float, size_bytes: float) -> tuple[float, float]:
        """Work of a core, and reads of the disk, for writesets of so many bytes together.

        What does not fit into memory is applied in batches, each of which reads its pages again.
        """
        redo_bytes = _REDO * size_bytes
        batches = max(1, ceil(redo_bytes / self.memory_bytes))
        pages = batches * min(writesets / batches, self.data_bytes / _PAGE_BYTES)
        return redo_bytes * self.redo_byte_s, pages * self.page_read_s


_SENDS: Final = Program(0.0)  # the kernel, from a buffer of its own


def _usual_memory(options: GaleraOptions) -> float:
    pool = options.innodb_buffer_pool_size
    return pool if pool is not None and options.sst_method == "mariabackup" else _PREPARES_WITH


def _backup(
    options: GaleraOptions, costs: GaleraCosts, tls_ns: float, data_bytes: float, cores: int
) -> SstScript:
    """The pipe of a backup tool."""
    disk_byte_s = costs.sst_byte_ns * _NS
    near = [Program(costs.sst_backup_byte_ns * _NS, options.sst_backup_threads)]
    far = [Program(costs.sst_extract_byte_ns * _NS)]
    unpack: CopyCosts | None = None
    ratio, how = 1.0, ""
    if options.sst_compressor:
        used = compression_of(options.sst_compressor)
        near.append(Program(used.pack_byte_s, used.threads or cores))
        far.insert(0, Program(used.unpack_byte_s))
        ratio, how = used.ratio, used.name
    elif options.sst_compress != "none":
        used = BUILT_IN[options.sst_compress]
        near.append(Program(used.pack_byte_s, options.sst_compress_threads))
        far = [Program(costs.sst_extract_byte_ns / used.ratio * _NS)]
        ratio, how = used.ratio, f"compress = {used.name}"
        unpack = _unpacks(used, disk_byte_s, cores)
    socat = Program((costs.sst_socat_byte_ns + tls_ns) / ratio * _NS)
    limit = options.sst_rlimit
    name = ", ".join(filter(None, (options.sst_method, how, "TLS" * bool(options.sst_encrypt))))
    return SstScript(
        name=name,
        data_bytes=data_bytes,
        blocks=False,
        costs=CopyCosts(
            disk_byte_s, (*near, socat, _SENDS), least_byte_s=1.0 / limit / ratio if limit else 0.0,
            ratio=ratio, far_programs=(socat, *far), in_turn=True,
        ),
        pause_s=_PAUSE_S,
        unpack=unpack,
    )  # fmt: skip


def _unpacks(used: Compression, disk_byte_s: float, cores: int) -> CopyCosts:
    """All files, by as many threads as there are cores: it reads the small, and writes the large.

    The disk does both.
    """
    threads = Program(used.unpack_byte_s, cores)
    return CopyCosts(disk_byte_s * (1.0 + 1.0 / used.ratio), (threads,))
