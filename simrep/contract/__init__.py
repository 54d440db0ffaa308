"""What the engine and a replication model agree on: the model, what it is given, what it tells."""
