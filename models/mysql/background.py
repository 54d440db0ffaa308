"""Threads of a server that wake by the clock, whatever its clients do."""

from __future__ import annotations

from typing import Any, Final, Protocol

from simrep.modelling import Host, RedoLog

__all__ = ["BackgroundServer", "start_background"]

_GOVERNOR_S: Final = 0.01  # it looks every 10 ms
_GOVERNOR_WORK_S: Final = 20e-6
_PERSISTER_S: Final = 0.1  # s_time_threshold_ms
_PERSISTER_WORK_S: Final = 100e-6


class BackgroundServer(Protocol):
    """The server whose threads they are."""

    host: Host
    redo: RedoLog
    commits: int
    alive: bool  # its process is there


def start_background(server: BackgroundServer, *, persists: bool) -> None:
    """Start the threads of a MySQL server that matter on a machine with a queue for each core.

    The governor of the log files looks every 10 ms whether there is something to do. The persister
    writes GTIDs into their table every 100 ms, and syncs the redo log, if transactions were
    committed since. They need next to no processor time. But they sleep and wake on a core, perhaps
    another one than the sessions: each time their program is weighed there anew (``Part``).

    Parameters
    ----------
    server : BackgroundServer
    persists : bool
        Whether it has GTIDs to write (``gtid_mode`` and a binary log).

    Notes
    -----
    In a trace of three MySQL 9.7 servers with 350 transactions a second the governor of each woke
    82 to 96 times a second and the persister, which slept twice for the disk each time, 10 times;
    they worked for 10 to 30 and about 200 us a time, tracing included. Simplified: no commit shares
    the persister's fsync. Not simulated: the purge threads, which woke for about every second
    commit.

    References
    ----------
    MySQL 9, storage/innobase/log/log0files_governor.cc (log_files_governor) and
    clone/clone0repl.cc (Clone_persist_gtid::periodic_write).
    """
    _Governor(server)
    if persists:
        _Persister(server)


class _Thread:
    """Wakes from time to time, works if there is something to do, and sleeps."""

    period_s: float
    work_s: float

    def __init__(self, server: BackgroundServer) -> None:
        self._server = server
        self._sleeper: Any = None
        self._set_timer()

    def _set_timer(self) -> None:
        clock = self._server.host.clock
        clock.at(clock.now + self.period_s, self._wake)

    def _wake(self, _: None) -> None:
        if not self._server.alive:
            return
        if self._is_needed():
            self._server.host.rouse(self._sleeper, self.work_s, self._end)
        else:
            self._set_timer()

    def _is_needed(self) -> bool:
        return True

    def _end(self, _: None) -> None:
        self._sleep()

    def _sleep(self, _: None = None) -> None:
        self._sleeper = self._server.host.doze()
        self._set_timer()


class _Governor(_Thread):
    period_s = _GOVERNOR_S
    work_s = _GOVERNOR_WORK_S


class _Persister(_Thread):
    period_s = _PERSISTER_S
    work_s = _PERSISTER_WORK_S
    _written = 0  # so many commits are in the table

    def _is_needed(self) -> bool:
        return self._written < self._server.commits

    def _end(self, _: None) -> None:
        self._written = self._server.commits
        self._server.redo.flush_alone(0, self._sleep)
