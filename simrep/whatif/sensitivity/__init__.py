"""Which numbers of a scenario move its answer most."""
