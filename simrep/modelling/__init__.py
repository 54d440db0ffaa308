"""All that the author of a model imports; what is named here stays as it is for a major release.

The contract
    ``Model`` is what a model inherits from. ``Cluster`` holds the machines and the network that it
    is given, ``Setup`` what a scenario comes down to; ``Leader``, ``Change``, ``Operation``,
    ``SessionTable``, ``Deployment`` and ``ReadLevel`` are what it tells of its product,
    ``ServerStatus`` what a server tells a proxy.
    ``roles`` mark options by what they do,
    ``prior`` costs by what is usual. ``Microseconds``, ``Nanoseconds``, ``Milliseconds``, ``Speed``
    and ``Factor`` are the numbers that costs are; a ``Reason`` is told with the error of an option
    beyond its bounds.
The servers of a product
    ``Recognition`` tells by the files and counters of a server (``ServerReading``) whether the
    model stands for it (``Evidence``), and what follows: ``ServerRelease``, ``Clue``.
What servers are made of
    ``Sessions`` run the statements of clients under the row locks of a ``LockTable``;
    ``MetadataLocks`` are those of tables, which a ``TableChange`` (``ChangeCosts``) takes to itself
    for what a ``DdlTable`` tells. A ``Host``
    has cores that each ``Thread`` and ``Routine`` competes for; ``Ahead`` is a thread that plans
    many jobs in one event. A ``Stage`` serves groups, a ``RedoLog`` and a ``Binlog`` group what is
    to be durable on a ``Disk``. ``OrderedGate`` lets pass in order, ``PausableMutex`` one at a
    time; ``CertificationIndex`` finds who is in conflict.
Messages
    A ``Mesh`` takes them from all nodes to all others over the ``Network``, by a ``Link`` for each
    pair; a ``TotalOrder`` delivers them to all in one order. A ``BulkStream`` carries many bytes
    from one node to another.
What is recorded
    ``Trace`` keeps what must be in order, ``Timeline`` what servers notice and decide, a
    ``Witness`` (``transaction.journal``) what becomes of a transaction; ``Lap`` names the stages
    that it marks. A ``Station`` tells how busy it is.
What explanations are told
    ``parts_of`` makes what somebody may have to wait for, watched if somebody wants an explanation;
    ``Parts`` and ``WatchedParts`` are there to be inherited from. ``MessageText`` says what a
    message is, ``Holder`` whom a station waits for; a ``StallPhase`` is a part of a stall, found in
    what servers ``Noted`` by a ``StallAccount``. ``simrep.modelling.watching`` has the rest.

``simrep.modelling.closed_form`` has the words of second opinions. A model that answers questions of
its own (``Question``) finds in ``simrep.modelling.questions`` what simulates and shows the answer,
and in ``simrep.modelling.figure`` what draws it.
"""

from simrep.contract import roles
from simrep.contract.cluster import Cluster
from simrep.contract.model import (
    Change,
    Degradation,
    Deployment,
    Leader,
    Model,
    Operation,
    SessionTable,
    Setup,
    StallPhase,
)
from simrep.contract.question import Option, Question
from simrep.contract.read_level import ReadLevel
from simrep.contract.recognition import Clue, Evidence, Recognition, ServerBranch, ServerRelease
from simrep.contract.registry import find_model
from simrep.contract.server_reading import FileEntry, Place, Quantity, ServerReading
from simrep.contract.stall_account import StallAccount
from simrep.contract.watching import Parts, WatchedParts, parts_of
from simrep.errors import ScenarioError, ShortRunWarning, SimrepError, nearest
from simrep.kernel.clock import Clock, Event, Process
from simrep.kernel.deque import deque
from simrep.kernel.queues import Fifo, OrderedGate, PausableMutex
from simrep.kernel.streams import Stream
from simrep.kernel.timeline import Noted, Timeline
from simrep.kernel.trace import MessageText, Trace, TraceEvent
from simrep.kernel.watch import Holder
from simrep.measure.histogram import Moments
from simrep.measure.stations import Station
from simrep.network.bulk import BulkStream
from simrep.network.copying import CopyCosts, Copying, Program
from simrep.network.direct import Coming, DirectMesh, Inbox
from simrep.network.link import Link
from simrep.network.mesh import Deliver, Mesh, MessageWork, TotalOrder
from simrep.network.network import Network
from simrep.network.packets import Fin, LinkMessage, Rst, Syn, SynAck
from simrep.scenario import prior
from simrep.scenario.ddl import DdlTable
from simrep.scenario.operation import OperationWord
from simrep.scenario.problems import ProblemsError, spellings
from simrep.scenario.table import Factor, Microseconds, Milliseconds, Nanoseconds, Reason, Speed
from simrep.server.ahead import Ahead
from simrep.server.booked import BookedCores, BookedThread
from simrep.server.certification import CertificationIndex
from simrep.server.host import Burst, Host, Routine, Spin
from simrep.server.locks import Decided, LockTable
from simrep.server.metadata_locks import Access, Claim, MetadataLocks
from simrep.server.process_exit import Killable, ProcessExit
from simrep.server.ranges import Ranges, points_in
from simrep.server.stage import Stage
from simrep.server.storage import Binlog, Disk, RedoLog
from simrep.server.table_change import ChangeCosts, TableChange
from simrep.server.thread import Thread, WaitingThread
from simrep.whatif.plan.catalogue import (
    rejoin_question,
    repeated,
    scheduled,
    timeouts_question,
)
from simrep.workload.laps import Lap
from simrep.workload.open_transaction import OpenTransaction
from simrep.workload.session import Sessions
from simrep.workload.session_costs import SessionCosts
from simrep.workload.status import ServerStatus
from simrep.workload.transaction import LongTransaction, Statement, Transaction, Witness

__all__ = [
    "Access",
    "Ahead",
    "Binlog",
    "BookedCores",
    "BookedThread",
    "BulkStream",
    "Burst",
    "CertificationIndex",
    "Change",
    "ChangeCosts",
    "Claim",
    "Clock",
    "Clue",
    "Cluster",
    "Coming",
    "CopyCosts",
    "Copying",
    "DdlTable",
    "Decided",
    "Degradation",
    "Deliver",
    "Deployment",
    "DirectMesh",
    "Disk",
    "Event",
    "Evidence",
    "Factor",
    "Fifo",
    "FileEntry",
    "Fin",
    "Holder",
    "Host",
    "Inbox",
    "Killable",
    "Lap",
    "Leader",
    "Link",
    "LinkMessage",
    "LockTable",
    "LongTransaction",
    "Mesh",
    "MessageText",
    "MessageWork",
    "MetadataLocks",
    "Microseconds",
    "Milliseconds",
    "Model",
    "Moments",
    "Nanoseconds",
    "Network",
    "Noted",
    "OpenTransaction",
    "Operation",
    "OperationWord",
    "Option",
    "OrderedGate",
    "Parts",
    "PausableMutex",
    "Place",
    "ProblemsError",
    "Process",
    "ProcessExit",
    "Program",
    "Quantity",
    "Question",
    "Ranges",
    "ReadLevel",
    "Reason",
    "Recognition",
    "RedoLog",
    "Routine",
    "Rst",
    "ScenarioError",
    "ServerBranch",
    "ServerReading",
    "ServerRelease",
    "ServerStatus",
    "SessionCosts",
    "SessionTable",
    "Sessions",
    "Setup",
    "ShortRunWarning",
    "SimrepError",
    "Speed",
    "Spin",
    "Stage",
    "StallAccount",
    "StallPhase",
    "Statement",
    "Station",
    "Stream",
    "Syn",
    "SynAck",
    "TableChange",
    "Thread",
    "Timeline",
    "TotalOrder",
    "Trace",
    "TraceEvent",
    "Transaction",
    "WaitingThread",
    "WatchedParts",
    "Witness",
    "deque",
    "find_model",
    "nearest",
    "parts_of",
    "points_in",
    "prior",
    "rejoin_question",
    "repeated",
    "roles",
    "scheduled",
    "spellings",
    "timeouts_question",
]
