"""A failover manager: it polls the servers, and makes a replica the source when that is gone."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from simpy.exceptions import Interrupt

from simrep.modelling import Change, Cluster, Event, Process, ScenarioError, nearest

from .line import Answer, Line, Statement
from .presets import ManagerRules, rules_of
from .servers import ReplicaReport, Servers

if TYPE_CHECKING:
    from simrep.models.asynchronous.options import AsynchronousOptions

__all__ = ["FailoverManager", "check_place", "manager_of"]

_FENCE_S = 600.0  # MySQLTopologyReadTimeoutSeconds of Orchestrator
_ROUNDING_S = 1e-9

_Steps = Generator[Event, Any, Any]
_Reports = Mapping[int, ReplicaReport]


class FailoverManager:
    """One manager for one replication; a program of its own on the machine of a node.

    It polls. When the source has not answered often enough, it asks the replicas, if its rules say
    so, and replaces the source: it chooses the replica that has received most, waits until that has
    applied it, makes it the source, and re-points the others.

    It lives on when the server beside it is killed or stopped, and ends with their machine.

    Parameters
    ----------
    cluster : Cluster
    rules : ManagerRules
    servers : Servers
    place : int
        The node whose machine it is on.
    source : int
        The source at the begin.

    Attributes
    ----------
    failovers : int
        How often it has made a replica the source.

    Notes
    -----
    Simplified: all servers are polled at the same instants; a tool that runs several times (Raft)
    is one; a proxy is told nothing; every replica may become the source, and none is preferred to
    one that has received as much, but by the order of the nodes. Orchestrator reads again what
    replicas say before it acts, although its last poll of them may have been late enough. MHA ends
    after a failover: its next one is ``block_s`` later at the earliest. Lag by
    Seconds_Behind_Source, which stays 0 while a source is silent, makes Orchestrator restart no IO
    threads.
    """

    def __init__(
        self, cluster: Cluster, rules: ManagerRules, servers: Servers, *, place: int, source: int
    ) -> None:
        self._cluster = cluster
        self._clock = cluster.clock
        self._timeline = cluster.timeline
        self._names = cluster.names
        self._rules = rules
        self._servers = servers
        self._place = place
        self._source = source
        self._lines = [self._line(node, "manager") for node in range(cluster.size)]
        self._phase = cluster.streams.uniform("manager/phase")
        self._failures = 0
        self._seen: dict[int, ReplicaReport] = {}  # of those that answered the last poll
        self._heard_s: dict[int, float] = {}  # when a replica had last received something
        self._gone = False  # whether it has noted that it takes the source for gone
        self._why = ""  # it has not replaced the source
        self._left: set[int] = set()  # nodes that it has said it leaves alone
        self._allowed_s = -inf  # no failover before
        self._process: Process | None = None
        self.failovers = 0

    def _line(self, node: int, name: str) -> Line:
        """A connection to a server, whose random numbers have this name."""
        cluster, rules, place = self._cluster, self._rules, self._place
        aside = cluster.network.aside
        return Line(
            cluster.clock,
            cluster.clock_of(node),
            self._servers,
            node,
            None if node == place else aside(place, node, name),
            None if node == place else aside(node, place, name),
            connects_anew=rules.connects_anew,
            pings_anew=rules.pings_anew,
        )

    # -- its life --------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to poll, at a time that is random within a poll."""
        self._failures = 0
        self._process = self._clock.process(self._watch())

    def stop(self) -> None:
        """Its machine is gone."""
        assert self._process is not None
        self._process.interrupt()
        self._process = None
        for line in self._lines:
            line.close()

    def machine_changes(self, change: Change) -> None:
        """Something happens to a node; the manager goes and comes with its machine."""
        if change.node != self._place:
            return
        if change.what == "power-loss" and self._process is not None:
            self._note("manager-ends", (self._place,))
            self.stop()
        elif change.starts and self._process is None:
            self._note("manager-begins", (self._place,))
            self.start()

    def _note(self, what: str, of: Iterable[int] = (), how: str = "") -> None:
        if self._timeline is not None:
            self._timeline.note(self._rules.name, what, tuple(of), how)

    def _watch(self) -> _Steps:
        rules = self._rules
        period_s = rules.poll_s + rules.late_s
        try:
            yield self._clock.timeout(self._phase() * period_s)
            while True:
                began_s = self._clock.now
                yield from self._poll()
                if self._failures >= rules.failures:
                    yield from self._replace()
                elif not self._failures:
                    yield from self._look_after()
                from_s = self._clock.now if rules.pauses else began_s
                next_s = max(from_s + period_s, self._clock.now)
                yield self._clock.timeout(next_s - self._clock.now)
        except Interrupt:
            return

    # -- polls -----------------------------------------------------------------------------------

    @property
    def _replicas(self) -> list[int]:
        return [node for node in range(len(self._lines)) if node != self._source]

    def _ask(self, nodes: Iterable[int]) -> _Steps:
        """Ask servers at once; returns what those say that answer, and notes it of the source."""
        rules = self._rules
        asked = {
            node: self._lines[node].ask(
                partial(self._report, node), rules.connect_timeout_s, rules.read_timeout_s
            )
            for node in nodes
        }
        yield self._clock.all_of(list(asked.values()))
        answers = {node: _answer(event) for node, event in asked.items()}
        reports = {node: answer.value for node, answer in answers.items() if answer.ok}
        if self._source in answers:
            self._source_answered(answers[self._source])
        for node, report in reports.items():
            before = self._seen.get(node)
            if before is None or (before.received, before.heartbeats) != (
                report.received,
                report.heartbeats,
            ):
                self._heard_s[node] = self._clock.now
        self._seen |= reports
        return reports

    def _report(self, node: int, reply: Callable[..., None]) -> None:
        reply(self._servers.report(node))

    def _extras(self, node: int, source: int, reply: Callable[..., None]) -> None:
        reply(self._servers.extras(node, source))

    def _poll(self) -> _Steps:
        """One round."""
        everybody = range(len(self._lines))
        reports = yield from self._ask(everybody if self._rules.polls_replicas else (self._source,))
        self._seen = dict(reports)
        self._follow()

    def _source_answered(self, answer: Answer) -> None:
        if not answer.ok:
            self._failures += 1
            if self._failures == 1:
                self._gone = False
                self._note("suspect", (self._source,), answer.error)
        elif self._failures:
            self._failures = 0
            self._why = ""
            self._note("manager-hears", (self._source,))

    def _follow(self) -> None:
        """Somebody else has given the role of the source to another node."""
        old = self._seen.get(self._source)
        if old is not None and old.source is not None:
            new = self._seen.get(old.source)
            if new is not None and new.source is None:
                self._source = old.source

    # -- whether the source is replaced ----------------------------------------------------------

    def _refuse(self, why: str) -> None:
        """Say why it does not replace the source, once for every reason."""
        if why != self._why:
            self._why = why
            self._note("manager-waits", (self._source,), why)

    def _replace(self) -> _Steps:
        """Replace the source, if nothing is against that."""
        asks: Mapping[str, Callable[[], _Steps]] = {
            "nobody": self._ask_nobody,
            "io-threads": self._ask_io_threads,
            "events": self._ask_events,
            "heartbeats": self._ask_heartbeats,
        }
        if not self._gone:
            self._gone = True
            times = f"{self._failures} polls in a row" if self._failures > 1 else "a poll"
            self._note("manager-takes-for-gone", (self._source,), f"{times} failed")
        if self._clock.now < self._allowed_s:
            self._refuse(f"no second failover within {self._rules.block_s:g} s")
            return
        if (yield from asks[self._rules.asks]()):
            yield from self._fail_over()

    def _ask_nobody(self) -> _Steps:
        yield from ()
        return True

    def _ask_io_threads(self) -> _Steps:
        """Look at what replicas say until none has an IO thread that runs."""
        pause_s = self._rules.recheck_s
        yield self._clock.timeout(self._phase() * pause_s)
        while True:
            began_s = self._clock.now
            reports: _Reports = yield from self._ask(range(len(self._lines)))
            yield self._clock.timeout(max(0.0, began_s + pause_s - self._clock.now))
            if not self._failures:
                return False
            told = [node for node in self._replicas if node in reports]
            running = [node for node in told if reports[node].io_running]
            if told and not running:
                return True
            if running:
                names = ", ".join(self._names[node] for node in running)
                self._refuse(f"the IO thread of {names} runs")
            else:
                self._refuse("no replica answers")

    def _ask_events(self) -> _Steps:
        """Whether no replica has received anything of the source for long enough."""
        now, verify_s = self._clock.now, self._rules.verify_s
        for node in self._replicas:
            report = self._seen.get(node)
            if report is None or report.source != self._source or not report.io_running:
                continue
            if self._heard_s[node] > now - verify_s:
                self._refuse(f"{self._names[node]} has received something in {verify_s:g} s")
                return False
        yield from ()
        return True

    def _ask_heartbeats(self) -> _Steps:
        """Watch for heartbeats, one replica after the other."""
        for node in self._replicas:
            if node not in self._seen:
                continue
            before: _Reports = yield from self._ask((node,))
            yield self._clock.timeout(self._rules.verify_s)
            after: _Reports = yield from self._ask((node,))
            both = node in before and node in after
            if both and after[node].heartbeats > before[node].heartbeats:
                self._refuse(f"{self._names[node]} receives heartbeats")
                return False
        return True

    # -- how -------------------------------------------------------------------------------------

    def _fail_over(self) -> _Steps:
        rules, old = self._rules, self._source
        if rules.hooks_s:
            yield self._clock.timeout(rules.hooks_s)
        reports: _Reports = yield from self._ask(self._replicas)
        able = {node: report for node, report in reports.items() if report.source == old}
        if not able:
            self._refuse("no replica of it answers")
            return
        new = max(able, key=lambda node: (able[node].received, able[node].executed, -node))
        self._note("manager-decides", (new,))
        if not (yield from self._drain(new, able[new].received)):
            self._refuse(f"{self._names[new]} does not answer any more")
            return
        servers = self._servers
        answer: Answer = yield self._say(new, partial(servers.promote, new))
        if not answer.ok:
            self._refuse(f"{self._names[new]}: {answer.error}")
            return
        self._source = new
        self._failures = 0
        self._why = ""
        self.failovers += 1
        self._allowed_s = self._clock.now + rules.block_s
        if rules.fences:
            fence = partial(servers.set_read_only, old, True)
            line = self._line(old, f"manager/{self.failovers}")
            line.ask(fence, rules.connect_timeout_s, _FENCE_S)
        others = [node for node in able if node != new]
        yield self._clock.all_of(
            [self._say(node, partial(servers.repoint, node, new)) for node in others]
        )

    def _say(self, node: int, statement: Statement) -> Event:
        rules = self._rules
        return self._lines[node].ask(statement, rules.connect_timeout_s, rules.read_timeout_s)

    def _drain(self, new: int, received: int) -> _Steps:
        """Wait until the new source has applied what it had received; whether it answers still."""
        rules = self._rules
        until_s = self._clock.now + rules.drain_timeout_s
        while True:
            reports: _Reports = yield from self._ask((new,))
            if new not in reports:
                return False
            late = received - reports[new].executed
            now = self._clock.now
            if late <= 0:
                self._note("manager-drained", (new,))
                return True
            if now + _ROUNDING_S >= until_s:
                how = f"{late} transactions of its relay log are not applied"
                self._note("manager-gives-up", (new,), how)
                return True
            yield self._clock.timeout(min(rules.drain_step_s, until_s - now))

    # -- the old source --------------------------------------------------------------------------

    def _look_after(self) -> _Steps:
        """Make replicas of servers that are back and replicate from nobody, or from another."""
        if not self._rules.rejoins:
            return
        servers, source = self._servers, self._source
        for node in self._replicas:
            report = self._seen.get(node)
            if report is None or report.source == source:
                continue
            if not report.read_only:
                yield self._say(node, partial(servers.set_read_only, node, True))
            counted = yield self._say(node, partial(self._extras, node, source))
            if not counted.ok:
                continue
            if counted.value:
                if node not in self._left:
                    self._left.add(node)
                    how = f"it has {counted.value} transactions that {self._names[source]} lacks"
                    self._note("manager-leaves", (node,), how)
                continue
            yield self._say(node, partial(servers.repoint, node, source))


def _answer(event: Event) -> Answer:
    answer = event.value
    assert isinstance(answer, Answer)
    return answer


def check_place(options: AsynchronousOptions, names: Sequence[str]) -> None:
    """Raise ScenarioError if there is no node that the manager is said to be beside."""
    beside = options.manager_beside
    if beside is not None and beside not in names:
        path = "cluster.options.manager_beside"
        raise ScenarioError(path, f"no node {beside!r}", nearest(beside, names))


def manager_of(
    cluster: Cluster, options: AsynchronousOptions, servers: Servers, source: int
) -> FailoverManager | None:
    """The manager of a replication, which begins to poll; None without one."""
    rules = rules_of(options)
    if rules is None:
        return None
    beside = options.manager_beside
    place = cluster.size - 1 if beside is None else list(cluster.names).index(beside)
    manager = FailoverManager(cluster, rules, servers, place=place, source=source)
    manager.start()
    return manager
