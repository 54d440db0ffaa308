"""What a stall of a Galera cluster consists of: timers, messages and schema changes, as noted.

References
----------
gcomm ``evs_proto.cpp`` (``handle_timers``, ``check_inactive``, ``handle_join``), ``gmcast.cpp``
(``check_liveness``, ``reconnect``), ``pc_proto.cpp``; gcs ``gcs_group.cpp``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from simrep.modelling import Noted, StallAccount, StallPhase

from .options import GaleraOptions
from .stopped_phases import stopped_phases

__all__ = ["stall_phases"]

_ROUNDING_S = 1e-9


def stall_phases(
    noted: Sequence[Noted],
    names: Sequence[str],
    options: GaleraOptions,
    from_s: float,
    until_s: float,
) -> list[StallPhase]:
    """The phases of a stall, as far as lines of its time line tell; see ``Model.stall_phases``."""
    # What was sent before commits with the view, which a line may tell a little later.
    latest_s = until_s + options.join_retrans_period_s
    lines = [one for one in noted if from_s <= one.at_s <= latest_s]
    account = _Account(lines, names, options, from_s, until_s)
    while account.view_change():
        pass
    if not account.phases:
        account.table_change(noted)
    if account.phases or account.lost_link():
        account.rest()
        return account.phases
    # A node whose queue grows tells that somewhat later than the last commit before the stall.
    return stopped_phases(noted, names, options, from_s, until_s)


class _Account(StallAccount):
    """A stall from its begin on, accounted for line by line."""

    def __init__(
        self,
        lines: Sequence[Noted],
        names: Sequence[str],
        options: GaleraOptions,
        from_s: float,
        until_s: float,
    ) -> None:
        super().__init__(names, from_s, until_s, _ROUNDING_S)
        self._lines = lines
        self._options = options
        self._tick_s, self._retrans_s = (
            options.inactive_check_period_s,
            options.join_retrans_period_s,
        )
        self._done = 0  # so many lines are
        self._members: tuple[int, ...] = ()  # of the last view
        self._last = ""  # the word of the line that was accounted for last
        self._lost_quorum = False  # so clients were told errors, and pause

    def _next(self, what: str, among: Callable[[Noted], bool] = lambda _: True) -> Noted | None:
        for line in self._lines[self._done :]:
            if line.what == what and among(line):
                return line
        return None

    def _timer(self, seconds: float, until_s: float, name: str, why: str) -> None:
        """Account for a timer, which has ended at an instant at the latest."""
        self._until(min(self._at_s + seconds, until_s), name, why)

    # -- a view that changes -------------------------------------------------------------------

    def view_change(self) -> bool:
        """Account for the next change of the view; whether there was one."""
        if self._last == "non-primary":
            return self._quorum_again()
        cause = min(
            (line for line in map(self._next, ("suspect", "evicts")) if line is not None),
            key=lambda line: line.at_s,
            default=None,
        )
        view = self._next("stable", lambda line: tuple(sorted(line.of)) != self._members)
        first_s = min((one.at_s for one in (cause, view) if one is not None), default=inf)
        if first_s > self._end_s or self._at_s >= self._end_s:
            return False
        if cause is not None and (view is None or cause.at_s <= view.at_s):
            if cause.what == "suspect":
                self._suspicion(cause)
            else:
                self._eviction(cause)
        result = self._result()
        if result is None:
            return False
        stable = self._view_of(result)
        if stable is not None:
            self._agreement(stable.at_s, repeats=True)
        self._component(result)
        return self._settled(result)

    def _settled(self, result: Noted) -> bool:
        self._last = result.what
        self._members = tuple(sorted(result.of))
        self._done = self._lines.index(result) + 1
        return True

    def _quorum_again(self) -> bool:
        """Account for the time without a primary component, up to the next one.

        Other parts without quorum may have views of their own meanwhile. What counts are the links
        after which nothing broke any more.
        """
        primary = self._next("primary")
        if primary is None or primary.at_s > self._end_s:
            return False
        self._lost_quorum = True
        before = self._lines[self._done : self._lines.index(primary)]
        linked: Noted | None = None
        for line in before:
            if line.what in {"link-closed", "suspect", "non-primary"}:
                linked = None
            elif line.what == "link-open" and linked is None:
                linked = line
        if linked is None:
            self._until(primary.at_s, "no quorum", "no component may commit")
            return self._settled(primary)
        who, whom = self._names[linked.node], self._named(linked.of)
        self._until(
            linked.at_s, "no quorum", f"no component may commit; then {who} has a link to {whom}"
        )
        view = self._view_of(primary)
        if view is not None:
            self._agreement(view.at_s, repeats=True)
        self._component(primary)
        return self._settled(primary)

    def _suspicion(self, line: Noted) -> None:
        who, whom = self._names[line.node], self._named(line.of)
        timeout_s = self._options.suspect_timeout_s
        rest = line.at_s - self._at_s < timeout_s and self.phases
        self._timer(
            timeout_s, line.at_s, "rest of a suspect timeout" if rest else "suspect timeout",
            f"{who} sees no progress of {whom} (evs.suspect_timeout)",
        )  # fmt: skip
        self._until(
            line.at_s, "to the next tick",
            f"{who} looks every {self._tick_s:g} s (evs.inactive_check_period)",
        )  # fmt: skip

    def _eviction(self, line: Noted) -> None:
        options, whom = self._options, self._named(line.of)
        self._timer(
            options.keepalive_period_s + options.delay_margin_s, line.at_s, "delay",
            f"nothing comes from {whom} (evs.keepalive_period and evs.delay_margin)",
        )  # fmt: skip
        self._until(
            line.at_s, "to the next tick",
            f"members look every {self._tick_s:g} s (evs.inactive_check_period) and tell each "
            f"other how often {whom} was delayed (evs.auto_evict = {options.auto_evict})",
        )  # fmt: skip

    def _result(self) -> Noted | None:
        """The first line that says whether a component may go on.

        Both sides of a split say so within a few rounds of joins: then that of the primary one.
        """

        def new(line: Noted) -> bool:
            return tuple(sorted(line.of)) != self._members

        primary, other = self._next("primary", new), self._next("non-primary", new)
        if primary is None or other is None:
            return primary or other
        return primary if primary.at_s <= other.at_s + 3.0 * self._retrans_s else other

    def _view_of(self, result: Noted) -> Noted | None:
        """The view that it follows from: the last one before it on its node, or on any."""
        views = [line for line in self._lines[self._done :]
                 if line.what == "stable" and line.at_s <= result.at_s]  # fmt: skip
        own = [line for line in views if line.node == result.node]
        return next(reversed(own or views), None)

    def _agreement(self, at_s: float, *, repeats: bool) -> None:
        """Members agree on a view; joins that came too early are only repeated by a timer."""
        retrans_s = self._retrans_s
        rounds = int((at_s - self._at_s) / retrans_s + _ROUNDING_S)
        if repeats and rounds:
            times = "" if rounds == 1 else f", {rounds} times"
            self._timer(
                rounds * retrans_s, at_s, "join retransmission",
                f"members repeat their joins every {retrans_s:g} s{times} "
                "(evs.join_retrans_period)",
            )  # fmt: skip
        self._until(at_s, "messages", "joins, install and gaps of the view (EVS)")

    def _component(self, result: Noted) -> None:
        """States and install of the component, and the exchange of states above it."""
        keepalive_s = self._options.keepalive_period_s
        if result.what == "primary" and result.at_s - self._at_s >= keepalive_s:
            self._timer(
                keepalive_s, result.at_s, "keepalive",
                "a message came to a member that had not installed the view yet; the hole is "
                "noticed at the next keepalive (evs.keepalive_period)",
            )  # fmt: skip
        self._until(
            result.at_s, "messages",
            "states and install of the component (PC), state exchange (GCS)",
        )  # fmt: skip

    # -- a table that is changed ---------------------------------------------------------------

    def table_change(self, noted: Sequence[Noted]) -> None:
        """Account for the time in which nodes execute a statement in total order isolation."""
        ends: dict[tuple[int, str], float] = {}
        spans: list[tuple[float, float, int, str]] = []
        for line in reversed(noted):
            if line.what == "ddl-ends":
                ends[line.node, line.how] = line.at_s
            elif line.what == "ddl-begins":
                ended_s = ends.pop((line.node, line.how), inf)
                spans.append((line.at_s, ended_s, line.node, line.how))
        over = [span for span in spans if span[0] < self._end_s and span[1] > self._at_s]
        if not over:
            return
        began_s, _, _, statement = min(over)
        own = [span for span in over if span[3] == statement]
        first_s, node = min((ended_s, node) for _, ended_s, node, _ in own)
        who = self._names[node]
        self._until(began_s, "before it", "all that is ordered before it commits")
        self._until(
            first_s, "schema change",
            f"every node executes {statement} and holds its commit monitor: no transaction of any "
            f"table commits there; {who} is the first that has done",
        )  # fmt: skip
        self._last = "ddl-ends"

    # -- a link that is lost -------------------------------------------------------------------

    def lost_link(self) -> bool:
        """Account for links that were closed; whether there was one."""
        closed = self._next("link-closed")
        if closed is None or closed.at_s > self._end_s:
            return False
        who, whom = self._names[closed.node], self._named(closed.of)
        self._timer(
            self._options.peer_timeout_s, closed.at_s, "peer timeout",
            f"{who} hears nothing on its link to {whom} (gmcast.peer_timeout)",
        )  # fmt: skip
        self._until(closed.at_s, "to the next check", f"{who} looks at its links every 0.5 s")
        again = self._next("link-open", lambda line: line.node == closed.node)
        if again is not None:
            self._until(again.at_s, "reconnection", f"{who} has a link to {whom} again")
        self._last = "link-closed"
        return True

    def rest(self) -> None:
        """Account for the time to the end of the stall, if it is clear what it is."""
        if self._last == "primary":
            again = ", or is submitted again after a pause," if self._lost_quorum else ""
            self._until(
                self._end_s, "first commit", f"what waited{again} is ordered, certified and flushed"
            )
        elif self._last == "ddl-ends":
            self._until(self._end_s, "first commit", "what waited for the commit monitor commits")
        elif self._last == "non-primary":
            self._until(self._end_s, "no quorum", "no component may commit")
        elif self._last == "link-closed":
            self._until(
                self._end_s,
                "repair",
                "messages are relayed by other nodes, or asked for and sent again",
            )
