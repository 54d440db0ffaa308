"""Runs, results, datasets, and what a replication model is."""
