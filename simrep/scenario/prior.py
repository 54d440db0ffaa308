"""What is known of physical costs before anything is measured: usual ranges, with their sources.

The one home of priors. A field that is a cost or a trait of a machine carries its range beside its
description, as ``Annotated[float, FSYNC]``; a fit takes prior and bounds from there. A range holds
about 95 of 100 machines. Where no figure was published, it is an order of magnitude around what
fits and measurements of single threads gave (the packs that ship).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

from pydantic.fields import FieldInfo

__all__ = ["Prior", "prior_of"]


@dataclass(frozen=True, slots=True)
class Prior:
    """The range in which a cost lies on about 95 of 100 machines.

    Attributes
    ----------
    low, high : float
        In the unit of the field.
    source : str
        Who says so.
    least : float or None
        Below this it has no meaning.
    rare : bool
        It counts only while all data are copied: who looks at all costs leaves it out.
    """

    low: float
    high: float
    source: str
    least: float | None = None
    rare: bool = False

    @property
    def median(self) -> float:
        """Most plausible value: costs vary by factors."""
        return sqrt(self.low * self.high)

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithm: low and high are two of them away."""
        return log(self.high / self.low) / 4.0


def prior_of(field: FieldInfo) -> Prior | None:
    """The prior of a field of a table; None where none is known."""
    return next((one for one in field.metadata if isinstance(one, Prior)), None)


_TYPICAL = "order of magnitude, around the packs that ship"
_WAKE_UP = "waking a thread takes 5-50 us in the literature"

CONNECT = Prior(100.0, 2500.0, "fits: 140-1,700 us")
STATEMENT = Prior(30.0, 500.0, "a point update takes 80-200 us of CPU; fits: 47-500 us")
CLIENT = Prior(5.0, 100.0, "fits: 11-55 us, and more on a busy laptop")
ROW = Prior(1.0, 40.0, "fits: 1.9-8.3 us; with a secondary index up to a statement")
ROW_READ = Prior(0.3, 10.0, _TYPICAL)
ROLLBACK = Prior(5.0, 80.0, _TYPICAL)
BUILD = Prior(4.0, 80.0, "CPU per thread: 25 us in Group Replication; fits: 25-34 us")
SEND = Prior(2.0, 30.0, "CPU per thread: 9 us in XCom; fits: 3.4-11 us")
RECEIVE = Prior(3.0, 60.0, "30 us per message in one gcomm thread; fits: 5-23 us")
HAND_OVER = Prior(2.0, 30.0, "fits: 2.4-14 us; CPU per thread: 10 us")
BYTE = Prior(0.5, 20.0, "a copy takes about 1 ns; fits: 3.4-12 ns")
CERTIFY = Prior(2.0, 20.0, "3-8 us of hash probes; CPU per thread of Group Replication: 15 us")
CERTIFY_KEY = Prior(0.25, 2.5, "0.3-1 us for two hash probes and an insert")
KEY_MISS = Prior(0.1, 1.5, "a miss of the caches; fits: 0.26-0.44 us")
GARBAGE = Prior(
    50.0, 1000.0, "MySQL's own counters: 150 ns; stalls on servers of 40 cores: 600 ns, some misses"
)
GARBAGE_TRANSACTION = Prior(
    100.0, 1500.0, "MySQL's own counters: 600 ns with one row each, 150 ns of which are the row's"
)
APPLY = Prior(5.0, 400.0, "fits: 11-360 us")
LATCH = Prior(
    0.5, 20.0, "a server of 40 cores stops growing at 50,000-500,000 rows written per second"
)
LATCH_WAITER = Prior(
    5.0, 200.0, "a cache line is fetched from another core in 20-100 ns, once or a few times a turn"
)
PAGE_READ = Prior(
    60.0, 10_000.0, "60-150 us on NVMe, 0.3-1 ms in a SAN or in a cloud, 4-10 ms on a disk"
)
HOT_SHARE = Prior(
    0.1, 0.5, "80:20 (J. Gray et al., 1994); of the stock of TPC-C, 85:20 of rows, 69:20 of pages"
)
COMMIT = Prior(4.0, 100.0, "fits: 12-30 us, and more on a busy laptop")
BINLOG_WRITE = Prior(3.0, 30.0, "CPU per thread: 15 us; fits: 9 us")
BINLOG_BYTE = Prior(0.2, 5.0, "a copy takes about 1 ns")
LOG_WRITE = Prior(5.0, 20.0, "one write to the system takes 5-20 us")
FSYNC = Prior(
    12.0,
    17_000.0,
    "12-60 us on NVMe with power-loss protection (M. Callaghan, 2026), 0.5-5 ms on consumer NVMe, "
    "8-17 ms on a disk of 7200/min",
)
FSYNC_WORK = Prior(
    5.0, 100.0, "own measurements: a third to a half of an fsync of 0.13-0.16 ms on ext4, virtio"
)
DISK = Prior(50.0, 5000.0, "a single disk to NVMe")
LOG_ROW = Prior(8.0, 120.0, "fits: 18-78 us")
LOG_REMOVAL = Prior(
    3.0, 40.0, "a lookup by key and a mark; own measurements: 6-8 us in stalls of 90,909 of them"
)
LOG_BYTE = Prior(1.0, 100.0, "fits: 2.5-99 ns")
SWITCH = Prior(1.5, 50.0, f"{_WAKE_UP}, cold start included; fits: 5-7 us")
COMPRESS_BYTE = Prior(1.5, 3.0, "LZ4: 1.5-3 ns")
DECOMPRESS_BYTE = Prior(0.3, 1.0, "LZ4: 0.3-1 ns")
COMPRESSION = Prior(2.9, 4.5, "MySQL blog: mysqlslap 4.5, 4.1, sysbench 3.4, 2.9", least=1.0)
KEEPALIVE_SPREAD = Prior(0.2, 1.0, "0.2-1 ms between nodes of a real cluster")
_OWN_STARTS = "own measurements: starts of MariaDB 11.8 with small data,"
RECOVER = Prior(700.0, 8000.0, f"{_OWN_STARTS} 0.7-1.3 s on a quiet machine, 2-8 s on a loaded one")
START = Prior(250.0, 5000.0, f"{_OWN_STARTS} 0.3-0.6 s on a quiet machine")
BOOT = Prior(
    1000.0, 13_000.0, f"{_OWN_STARTS} 1.7-1.9 s on a quiet machine, 2-13 s on a loaded one"
)
EXIT = Prior(
    4.0, 5000.0, "own measurements: 38 us of CPU for each MB that is resident in pages of 4 KB"
)
EXIT_WAIT = Prior(
    10.0, 150.0, "own measurements: 31-41 ms on a quiet machine, 104-153 on a busy one"
)
SCRIPT = Prior(150.0, 2000.0, f"{_OWN_STARTS} 0.15-1.2 s")
ENGINE = Prior(1000.0, 10_000.0, f"{_OWN_STARTS} 1.4-3.1 s; more with a large buffer pool")
COPY = Prior(1.9, 20.0, "a clone of 122 GiB over 10 Gbit/s: 498 MiB/s, four threads (2020)")
PREPARE = Prior(1000.0, 100_000.0, "order of magnitude: it grows with what was written meanwhile")
REDO = Prior(
    3.0, 100.0, "order of magnitude: recovery applies 10-300 MB of redo log per second", rare=True
)
_SST = "a state transfer of 122 GB from an SSD of 530 MB/s over 10 Gbit/s (Percona, 2017-03-29)"
RSYNC = Prior(
    1.5, 6.0, f"{_SST}: three times as long as the SSD takes, 5.7 ns, less about 2.5 of the MD5 "
    "that rsync computed until 3.2", rare=True,
)  # fmt: skip
BACKUP_TOOL = Prior(
    1.0, 4.0, f"{_SST}: one thread takes twice as long as the SSD, 1.9 ns more than it", rare=True
)
SOCAT = Prior(0.4, 2.0, "order of magnitude: it reads and writes 8 KiB at a time", rare=True)
TLS = Prior(
    0.3, 2.5, "AES-GCM with instructions of the processor, in records of 16 KiB: 0.2-0.4", rare=True
)
EXTRACT = Prior(0.5, 3.0, "order of magnitude: it checks a CRC-32 and writes", rare=True)
CLONE_THREAD = Prior(
    0.5, 7.6, "four threads of clone took 1.9 ns for a byte together (2020)", rare=True
)
SLICE = Prior(0.5, 4.0, "Linux: 0.7-3 ms")
SPIN = Prior(1.0, 16.0, "one or a few of the scheduler's ticks of 1-4 ms")
COLD_FACTOR = Prior(
    1.5, 12.0, "CPU of servers at 50 ms, beside that without delay: three to six", least=1.0
)
COLD_AFTER = Prior(0.3, 10.0, "fits: 1.1-3.5 ms")
WAKE_UP = Prior(5.0, 50.0, _WAKE_UP)
SLEEP = Prior(
    2.5,
    40.0,
    "own measurement: processor time of a server by how often its threads sleep, 8-45 us",
    rare=True,
)
NEW_IDLE = Prior(
    2.0,
    750.0,
    "own readings on virtual machines: 3-31 us when idle, 19-290 while loads run, up to 750 after "
    "other work",
)
SECOND_THREAD = Prior(
    0.1, 0.35, "16-28 % with the first of them (D. Marr et al., 2002: servers), up to 30 %"
)
DISK_VARIATION = Prior(
    0.3,
    0.9,
    "fdatasync by fio: 0.85 (IBM cloud, 2019), 0.51 (EBS gp2) and 0.34 (gp3)",
)
JOURNAL = Prior(
    12.0,
    17_000.0,
    "as an fsync: fdatasync by fio takes 0.55-0.8 ms or 1.5-2.4 ms (IBM cloud, 2019)",
)
VARIATION = Prior(0.2, 1.5, "95th over 50th percentile of single transactions: 1.4-1.7")
