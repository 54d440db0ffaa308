"""XCom, the group communication of MySQL Group Replication: ``paxos`` orders the messages."""
