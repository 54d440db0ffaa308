"""All that the author of a model imports; what is named here stays as it is for a major release.

The contract
    ``Model`` is what a model inherits from. ``Cluster`` holds the machines and the network that it
    is given, ``Setup`` what a scenario comes down to; ``Leader``, ``Change`` and ``SessionTable``
    are what it tells of its product.
The servers of a product
    ``Recognition`` tells by the files and counters of a server (``ServerReading``) whether the
    model stands for it (``Evidence``), and what follows: ``ServerRelease``, ``Clue``.
What servers are made of
    ``Sessions`` run the statements of clients under the row locks of a ``LockTable``.
"""

from simrep.contract.cluster import Cluster
from simrep.contract.model import Change, Leader, Model, SessionTable, Setup
from simrep.contract.recognition import Clue, Evidence, Recognition, ServerBranch, ServerRelease
from simrep.contract.registry import find_model
from simrep.contract.server_reading import FileEntry, Place, Quantity, ServerReading
from simrep.errors import ScenarioError, SimrepError
from simrep.kernel.chronicle import MessageText
from simrep.server.locks import LockTable
from simrep.workload.open_transaction import OpenTransaction
from simrep.workload.session import SessionCosts, Sessions
from simrep.workload.transaction import Transaction

__all__ = [
    "Change",
    "Clue",
    "Cluster",
    "Evidence",
    "FileEntry",
    "Leader",
    "LockTable",
    "MessageText",
    "Model",
    "OpenTransaction",
    "Place",
    "Quantity",
    "Recognition",
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
    "find_model",
]
