"""XCom, the group communication of MySQL Group Replication.

``paxos`` orders the messages of a group in which nothing happens; ``changing`` those of one whose
members fall silent, go and come, over connections that break (``transport``) and with a
``detector``.
"""
