"""A leader and its followers: a commit waits for a quorum of fsyncs, and is applied in order."""

from functools import partial
from types import SimpleNamespace as Entry

from pydantic import BaseModel, ConfigDict, Field

from simrep import modelling
from simrep.modelling import Lap

LEADER, REPLY_BYTES = 0, 64


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    quorum: int = Field(2, ge=1, description="nodes that must have synced a transaction")


class Costs(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    statement_us: float = Field(90.0, ge=0, description="CPU per statement")
    fsync_us: float = Field(500.0, ge=0, description="one fsync")
    apply_us: float = Field(100.0, ge=0, description="CPU to apply a transaction")


class Quorum(modelling.Model):
    name, Options, Costs = "quorum", Options, Costs

    def __init__(self, cluster, options, costs):
        self.cluster, self.clock, self.apply_s = cluster, cluster.clock, costs.apply_us * 1e-6
        self.network, self.quorum = cluster.network, min(options.quorum, cluster.size)
        self.log, self.applied = {}, [0] * cluster.size
        self.locks, self.sessions, self.redo, self.gates = [], [], [], []
        work = modelling.SessionCosts(800e-6, costs.statement_us * 1e-6, 5e-6, 5e-6, 0.0, 20e-6)
        nodes = modelling.parts_of(cluster)  # watched, if an explanation is wanted
        for parts in nodes:
            self.locks.append(parts.locks())
            self.sessions.append(parts.sessions(self.locks[-1], work, commit=self.commit))
            self.redo.append(parts.redo_log(modelling.Disk(self.clock, costs.fsync_us * 1e-6)))
            how = {"doing": "being applied", "lap": Lap.COMMIT_ORDER}
            self.gates.append(parts.gate("commit order", self.log.get, **how))
            parts.on_message(partial(self.receive, parts.index))
        self.order = nodes[LEADER].line("quorum", self.missing, lap=Lap.ORDER)

    @staticmethod
    def writers(options):
        return modelling.Leader()

    def connect(self, node):
        return self.sessions[node].connect()

    def transact(self, transaction):
        return self.sessions[transaction.node].transact(transaction)

    def commit(self, transaction, owner):
        seqno = len(self.log) + 1
        entry = Entry(seqno=seqno, transaction=transaction, owner=owner, synced_on=[])
        self.log[seqno] = entry
        self.order.wait(entry)
        self.tell_followers("append", entry, transaction.size_bytes)
        self.redo[LEADER].flush(transaction.size_bytes, partial(self.count, LEADER), entry)
        yield owner.done
        return True

    def tell_followers(self, what, entry, size_bytes):
        for follower in range(1, self.cluster.size):
            self.send(LEADER, follower, what, size_bytes, entry)

    def send(self, source, target, what, size_bytes, entry):
        self.network.send(source, target, size_bytes, (what, entry, source), self.clock.now)

    def receive(self, node, message):
        what, entry, source = message
        if what == "append":
            reply = partial(self.send, node, LEADER, "synced", REPLY_BYTES)
            self.redo[node].flush(entry.transaction.size_bytes, reply, entry)
        elif what == "synced":
            self.count(source, entry)
        else:
            apply, leave = self.cluster.hosts[node].run, partial(self.leave, node)
            self.gates[node].enter(entry.seqno, partial(apply, self.apply_s, leave), entry)

    def count(self, node, entry):
        if len(entry.synced_on) + 1 == self.quorum:
            entry.owner.mark(Lap.ORDER)
            self.order.release(entry)
            self.gates[LEADER].enter(entry.seqno, self.commit_in_order, entry)
        entry.synced_on.append(node)

    def commit_in_order(self, entry):
        entry.owner.mark(Lap.COMMIT_ORDER)
        self.locks[LEADER].release_all(entry.owner)
        self.clock.fire(entry.owner.done)
        self.tell_followers("apply", entry, REPLY_BYTES)
        self.leave(LEADER, entry)

    def leave(self, node, entry):
        self.applied[node] += 1
        if entry.transaction.journal is not None:
            entry.transaction.journal.committed(node)
        self.gates[node].leave()

    def missing(self):
        entry = self.log[self.applied[LEADER] + 1]
        names = [name for n, name in enumerate(self.cluster.names) if n not in entry.synced_on]
        return modelling.Holder(f"{' or '.join(names)} to sync transaction {entry.seqno}")

    @staticmethod
    def describe(message):
        what, entry, _ = message
        return modelling.MessageText(f"{what} {entry.seqno}", (entry.transaction,), entry.seqno)

    def backlog(self):
        return {name: self.applied[LEADER] - n for name, n in self.by_name().items()}

    def counters(self):
        return {name: {"commits": applied} for name, applied in self.by_name().items()}

    def by_name(self):
        return dict(zip(self.cluster.names, self.applied, strict=True))
