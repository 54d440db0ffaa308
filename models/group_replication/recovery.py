"""How a member that joins gets what it has missed: distributed recovery."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Protocol

from simrep.modelling import BulkStream, Clock, CopyCosts, Fifo, Host, Network, Stream
from simrep.models.group_replication.gcs.views import View

from .certifier import Snapshot
from .clone import Clone
from .donors import Donors
from .history import History
from .messages import Metadata
from .missed import MissedTransactions
from .options import MOST_TRANSACTIONS, GroupReplicationOptions
from .transaction_message import TransactionMessage

__all__ = ["Donor", "Joiner", "Recovery"]

_PIECE_BYTES = 65_536
_LOOK_S = 0.010  # a donor that has not committed what comes next: so often is looked again

_NOBODY = -1
_ALL_GONE = "all donors have left the group"

_Missing = list[tuple[int, TransactionMessage]]


class Donor(Protocol):
    """A member that gives what others have missed."""

    @property
    def alive(self) -> bool:
        """Its server is there."""

    @property
    def refuses(self) -> bool:
        """Its server is gone, and its machine tells so."""

    def has(self, order: int) -> bool:
        """Whether it has committed a transaction."""

    def logs(self, missing: _Missing) -> bool:
        """Whether its binary log has transactions, as far as it has committed them."""

    def gives(self, joiner: int, how: str) -> None:
        """A member begins to get what it has missed."""


class Joiner(Protocol):
    """A member that gets what it has missed."""

    index: int
    without_data: bool  # a copy had begun, and it has nothing of its own any more

    def executed_snapshot(self) -> Snapshot:
        """What it has committed."""

    def resume(self, metadata: Metadata) -> None:
        """It has all that was ordered before the view in which it joined."""

    def drop_data(self) -> None:
        """A copy of all data begins: what it has is of no use any more."""

    def take_copy(self, donor: int) -> None:
        """It has a copy of all data of a donor, with which it starts anew."""

    def fail(self, why: str) -> None:
        """It cannot get what it has missed."""

    def online_members(self) -> list[int]:
        """Others that may be its donor."""

    def note(self, what: str, of: tuple[int, ...] = (), how: str = "") -> None:
        """See ``Timeline.note``."""


class Recovery:
    """The recovery of one member.

    It applies what it has in its relay log, waits for the message of the group that tells what has
    been ordered up to the view in which it joins, and gets what it lacks of that from a donor that
    is chosen at random, as that has committed it. What is ordered after the view waits until then.
    If its donor leaves, or its server ends, it asks the next one.

    A donor whose binary log has lost what it lacks answers with error 1236, and the next one is
    asked. If that is so with all of them, it gets a copy of all data, or fails if nobody has set
    ``group_replication_clone_threshold``: then the clone plugin is taken not to be there.

    If it lacks at least ``group_replication_clone_threshold`` transactions, it gets a copy of all
    data instead, and its server starts anew. Then it joins once more, and lacks what was ordered
    meanwhile.

    Attributes
    ----------
    transfer_s : float or None
        What it takes to get that, in seconds; None: what follows from the network.

    Notes
    -----
    Simplified: reading at the donor costs nothing; binary logs are kept for the whole run, so that
    no donor has purged what it has not lost; what a donor has sent before it goes is applied, where
    the product gets it again from the next one; whoever hears nothing of its donor waits until
    that leaves the group, where the product would give up the connection after 60 s.

    References
    ----------
    plugin/group_replication/src/recovery.cc, recovery_thread_handle; recovery_state_transfer.cc,
    state_transfer; plugin_handlers/remote_clone_handler.cc, check_clone_preconditions and
    clone_thread_handle (9).
    """

    def __init__(
        self,
        clock: Clock,
        network: Network,
        joiner: Joiner,
        missed: MissedTransactions,
        history: History,
        peer: Callable[[int], Donor],
        chance: Stream,
        options: GroupReplicationOptions,
        data_bytes: float,
        clone_costs: CopyCosts,
        hosts: Sequence[Host],
        disk_of: Callable[[int], Fifo | None],
    ) -> None:
        self._clock = clock
        self._disk_of = disk_of
        self._network = network
        self._joiner = joiner
        self._missed = missed
        self._history = history
        self._peer = peer
        self._threshold = options.clone_threshold
        self._data_bytes = data_bytes
        self._clone_costs = clone_costs
        self._hosts = hosts
        self._donors = Donors(
            clock,
            joiner.online_members,
            chance,
            options.recovery_retry_count,
            options.recovery_reconnect_interval,
        )
        self._attempt = 0  # a number for what is done for one recovery from one donor
        self._view = 0
        self._alone = False
        self._metadata: Metadata | None = None
        self._applied = False  # its own relay log
        self._donor = _NOBODY
        self._giver: Donor | None = None  # the server of the donor
        self._missing: _Missing = []  # the next one last
        self._under_way = 0  # pieces
        self._clone: Clone | None = None
        self._cloneable: list[int] = []  # who may still be asked for a copy
        self.running = False
        self.transfer_s: float | None = None

    # -- begin and end ---------------------------------------------------------------------------

    def begin(self, view: View) -> None:
        """The member is in a view, and recovers."""
        self.running = True
        self._view = view.number
        self._metadata = None
        self._alone = False
        self._cloneable = []
        self._donors.begin()
        self._drain()

    def hear(self, metadata: Metadata) -> None:
        """The group tells what was ordered up to a view."""
        if self.running and metadata.view == self._view and self._metadata is None:
            self._metadata = metadata
            none_logs = not self._any_logs(metadata)
            if none_logs and self._threshold == MOST_TRANSACTIONS:
                self._fail("1236 no binary log has what it has missed")
            elif none_logs or self._lacks_too_much(metadata):
                self._cloneable = self._donors.shuffled()
                self._copy()
            else:
                self._proceed()

    def see(self, view: View) -> None:
        """A view while it recovers: its donor may have left."""
        if not self.running:
            return
        self._alone = len(view.members) == 1
        self._donors.renew()
        self._cloneable = [donor for donor in self._cloneable if donor not in view.gone]
        if self._alone and self._metadata is None:
            self._fail(_ALL_GONE)
        elif self._donor in view.gone:
            if self._clone is not None:
                self._clone.give_up()
                self._broken()
            else:
                self._drain()

    def end(self) -> None:
        """The member leaves, or its server ends."""
        self._attempt += 1
        self._donors.end()
        if self._clone is not None:
            self._clone.give_up()
            self._clone = None
        self.running = False

    def _fail(self, why: str) -> None:
        self.end()
        self._joiner.fail(why)

    # -- incrementally ---------------------------------------------------------------------------

    def _drain(self) -> None:
        """Apply what is in the relay log, then go on."""
        self._attempt += 1
        self._applied = False
        self._donor = _NOBODY
        attempt = self._attempt

        def applied() -> None:
            if attempt == self._attempt:
                self._applied = True
                self._proceed()

        self._missed.when_applied(applied)

    def _proceed(self) -> None:
        """Choose a donor."""
        if self._metadata is None or not self._applied or self._clone is not None:
            return
        self._attempt += 1
        attempt = self._attempt
        if self._alone:
            self._fail(_ALL_GONE)
            return

        def chosen(donor: int | None) -> None:
            if attempt != self._attempt:
                return
            if donor is None:
                self._fail("no donor was found")
            elif self._peer(donor).refuses:
                self._proceed()
            else:
                self._fetch(donor)

        self._donors.next(chosen)

    def _fetch(self, donor: int) -> None:
        """Get what is missing from a donor."""
        metadata = self._metadata
        assert metadata is not None
        self._missed.begin()
        self._missing = self._history.missing(self._joiner.executed_snapshot(), metadata.order)
        if not self._missing:
            self._all_written(self._attempt)
            return
        if not self._peer(donor).logs(self._missing):  # error 1236
            self._proceed()
            return
        self._choose(donor, "incremental")
        if self.transfer_s is not None:
            piece, self._missing = self._missing, []
            self._under_way = 1
            at_s = self._clock.now + self.transfer_s
            self._clock.at(at_s, self._transferred, (self._attempt, piece))
            return
        self._missing.reverse()
        stream = BulkStream(self._clock, self._network, donor, self._joiner.index)
        self._under_way = 0
        self._send((self._attempt, stream))

    def _choose(self, donor: int, how: str) -> None:
        self._donor = donor
        self._giver = self._peer(donor)
        self._joiner.note("joiner", (donor,), how)
        self._giver.gives(self._joiner.index, how)

    def _send(self, turn: tuple[int, BulkStream]) -> None:
        """The donor sends the next piece of its binary log."""
        attempt, stream = turn
        if attempt != self._attempt:
            return
        donor, piece, size = self._giver, [], 0
        if donor is None or donor.refuses:
            self._drain()
            return
        while self._missing and size < _PIECE_BYTES and donor.has(self._missing[-1][0]):
            order, message = self._missing.pop()
            piece.append((order, message))
            size += message.entry.size_bytes
        if not piece:
            self._clock.at(self._clock.now + _LOOK_S, self._send, turn)
            return
        self._under_way += 1
        left_s = stream.send(size, self._arrived, (attempt, piece))
        if self._missing and left_s < inf:
            self._clock.at(left_s, self._send, turn)

    def _transferred(self, work: tuple[int, _Missing]) -> None:
        """The time that it takes is over."""
        if work[0] == self._attempt and self._giver is not None and self._giver.refuses:
            self._drain()
        else:
            self._arrived(work)

    def _arrived(self, work: tuple[int, _Missing]) -> None:
        attempt, piece = work
        if attempt != self._attempt:
            return
        self._under_way -= 1
        for order, message in piece:
            self._missed.write(order, message)
        if not self._missing and not self._under_way:
            self._all_written(attempt)

    def _all_written(self, attempt: int) -> None:
        def applied() -> None:
            if attempt == self._attempt and self._metadata is not None:
                self.running = False
                self._joiner.resume(self._metadata)

        self._missed.when_applied(applied)

    # -- by a copy of all data -------------------------------------------------------------------

    def _lacks_too_much(self, metadata: Metadata) -> bool:
        """Whether the threshold is reached: what is in the relay log is not missing."""
        if self.transfer_s is not None:
            return False
        joiner = self._joiner
        if joiner.without_data:
            return True
        missing = self._history.missing(joiner.executed_snapshot(), metadata.order)
        return len(missing) - len(self._missed) >= self._threshold

    def _any_logs(self, metadata: Metadata) -> bool:
        """Whether the binary log of any donor has what is missing."""
        joiner = self._joiner
        if joiner.without_data:
            return True
        missing = self._history.missing(joiner.executed_snapshot(), metadata.order)
        return any(self._peer(donor).logs(missing) for donor in joiner.online_members())

    def _copy(self) -> None:
        """Get a copy of all data from the next donor, if there is one."""
        self._attempt += 1
        donors = self._cloneable
        while donors and self._peer(donors[-1]).refuses:
            donors.pop()
        if not donors:
            if self._joiner.without_data:
                self._fail("no donor was left for a copy of all data")
            else:
                self._drain()
            return
        self._choose(donors.pop(), "clone")
        donor = self._giver
        assert donor is not None
        self._joiner.drop_data()
        self._clone = Clone(
            self._clock,
            BulkStream(self._clock, self._network, self._donor, self._joiner.index),
            self._data_bytes,
            self._clone_costs,
            (self._hosts[self._donor], self._hosts[self._joiner.index]),
            lambda: not donor.refuses,
            self._copied,
            self._broken,
            self._disk_of(self._donor),
        )

    def _broken(self) -> None:
        """The donor of a copy has gone."""
        self._clone = None
        self._donor = _NOBODY
        self._copy()

    def _copied(self) -> None:
        self._clone = None
        self._joiner.take_copy(self._donor)
