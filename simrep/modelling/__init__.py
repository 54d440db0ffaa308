"""All that the author of a model imports; what is named here stays as it is for a major release.

The contract
    ``Model`` is what a model inherits from. ``Cluster`` holds the machines and the network that it
    is given, ``Setup`` what a scenario comes down to; ``Leader``, ``Change`` and ``SessionTable``
    are what it tells of its product.
The servers of a product
    ``Recognition`` tells by the files and counters of a server (``ServerReading``) whether the
    model stands for it (``Evidence``), and what follows: ``ServerRelease``, ``Clue``.
What servers are made of
    ``Sessions`` run the statements of clients under the row locks of a ``LockTable``; a ``RedoLog``
    groups what is to be durable on a ``Disk``.
What explanations are told
    ``parts_of`` makes what somebody may have to wait for, watched if somebody wants an explanation;
    ``WatchedParts`` of a model lists a ``Twin`` for each of its own ``Parts``. ``Lap`` names the
    stages that a transaction marks, ``MessageText`` says what a message is, ``Holder`` whom a
    station waits for.
"""

from simrep.contract.cluster import Cluster
from simrep.contract.model import Change, Leader, Model, SessionTable, Setup
from simrep.contract.recognition import Clue, Evidence, Recognition, ServerBranch, ServerRelease
from simrep.contract.registry import find_model
from simrep.contract.server_reading import FileEntry, Place, Quantity, ServerReading
from simrep.contract.watching import Parts, Twin, WatchedParts, parts_of
from simrep.errors import ScenarioError, SimrepError
from simrep.kernel.chronicle import MessageText
from simrep.kernel.watch import Holder
from simrep.server.locks import LockTable
from simrep.server.storage import Disk, RedoLog
from simrep.workload.laps import Lap
from simrep.workload.open_transaction import OpenTransaction
from simrep.workload.session import SessionCosts, Sessions
from simrep.workload.transaction import Transaction

__all__ = [
    "Change",
    "Clue",
    "Cluster",
    "Disk",
    "Evidence",
    "FileEntry",
    "Holder",
    "Lap",
    "Leader",
    "LockTable",
    "MessageText",
    "Model",
    "OpenTransaction",
    "Parts",
    "Place",
    "Quantity",
    "Recognition",
    "RedoLog",
    "ScenarioError",
    "ServerBranch",
    "ServerReading",
    "ServerRelease",
    "SessionCosts",
    "SessionTable",
    "Sessions",
    "Setup",
    "SimrepError",
    "Transaction",
    "Twin",
    "WatchedParts",
    "find_model",
    "parts_of",
]
