"""Programs that compress what a state transfer sends: how much smaller it gets, for what work.

References
----------
zstd 1.5.7, README: speeds of one thread, and ratios, with the Silesia corpus on a Core i7-9700K at
4.9 GHz. "Compression for InnoDB backup", Percona's blog, 2009-03-16 (TPC-C): QuickLZ makes pages of
InnoDB 1.92 times smaller, gzip 2.4 times (-1) to 3.3 times (-5); 0.86 times what QuickLZ does with
the corpus, so that this factor stands with the other ratios. Levels 2 and 3 of zstd, and 6 of gzip,
are as much slower as in tables of other versions.

A core of a server takes 1 to 2.5 times as long; pages of 2009's cores took 4 to 5 times as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from simrep.modelling import ScenarioError

__all__ = ["BUILT_IN", "Compression", "compression_of"]


@dataclass(frozen=True, slots=True)
class Compression:
    """What a compressor does with a byte: times of one thread, in seconds.

    Attributes
    ----------
    name : str
        As an operator writes it.
    ratio : float
        How many times smaller data are.
    pack_byte_s, unpack_byte_s : float
        For a byte of the data as they were.
    threads : int
        That compress; 0: as many as the machine has cores.
    """

    name: str
    ratio: float
    pack_byte_s: float
    unpack_byte_s: float
    threads: int = 1


_INNODB: Final = 0.86  # pages of InnoDB, beside the Silesia corpus
_MB: Final = 1e6


def _by(ratio: float, pack_mb_s: float, unpack_mb_s: float, threads: int = 1) -> Compression:
    return Compression("", ratio, 1.0 / pack_mb_s / _MB, 1.0 / unpack_mb_s / _MB, threads)


_LZ4 = _by(2.10 * _INNODB, 675, 3850)
_QUICKLZ = _by(1.92, 520, 750)
_ZSTD = {
    1: _by(2.90 * _INNODB, 510, 1550),
    2: _by(2.97 * _INNODB, 362, 1550),
    3: _by(3.03 * _INNODB, 240, 1550),
}
_GZIP = {1: _by(2.4, 105, 390), 6: _by(3.3, 33, 390)}

# By program: its levels, and the one that it takes if none is given.
_PROGRAMS: Mapping[str, tuple[Mapping[int, Compression], int]] = {
    "gzip": (_GZIP, 6),
    "pigz": ({level: replace(one, threads=0) for level, one in _GZIP.items()}, 6),
    "lz4": ({1: _LZ4}, 1),
    "qpress": ({1: _QUICKLZ}, 1),
    "zstd": (_ZSTD, 3),
}
_THREADS = {"pigz": ("-p", "--processes="), "qpress": ("-T",), "zstd": ("-T", "--threads=")}
_IGNORED = frozenset({"-c", "-io", "-q", "-", "--stdout", "--quiet"})  # where it reads and writes

BUILT_IN: Final[Mapping[str, Compression]] = {
    "quicklz": replace(_QUICKLZ, name="quicklz"),
    "lz4": replace(_LZ4, name="lz4"),
    "zstd": replace(_ZSTD[1], name="zstd"),
}
"""What a backup tool compresses files with itself (``--compress``), by its name."""


def compression_of(command: str) -> Compression:
    """What a command does, as it stands after ``compressor`` in the section ``[sst]``.

    Parameters
    ----------
    command : str
        ``pigz -p 4``, ``zstd -1 -T4``.

    Raises
    ------
    ScenarioError
        It is none whose speed is known, or has an option that this does not know.

    Examples
    --------
    >>> compression_of("zstd -1 -T4").threads
    4
    """
    path = "sst.compressor"
    name, *words = command.split() or [""]
    name = name.rpartition("/")[2]
    if name not in _PROGRAMS:
        raise ScenarioError(
            path,
            f"no speed is known of {name!r}",
            f"those of {', '.join(sorted(_PROGRAMS))} are",
        )
    levels, level = _PROGRAMS[name]
    threads: int | None = None
    while words:
        word = words.pop(0)
        flag = next((one for one in _THREADS.get(name, ()) if word.startswith(one)), None)
        if flag is not None:
            number = word[len(flag) :] or (words.pop(0) if words else "")
            if not number.isdecimal():
                raise ScenarioError(path, f"{flag} needs a number of threads, given {command!r}")
            threads = int(number)
        elif word[:1] in "-L" and word.lstrip("-L").isdecimal():
            level = int(word.lstrip("-L"))
        elif word not in _IGNORED:
            raise ScenarioError(
                path,
                f"option {word!r} of {name} is not simulated",
                "a level and a number of threads are",
            )
    if level not in levels:
        known = ", ".join(f"-{one}" for one in levels)
        raise ScenarioError(
            path, f"no speed is known of level {level} of {name}", f"known levels: {known}"
        )
    found = levels[level]
    return replace(found, name=command, threads=found.threads if threads is None else threads)
