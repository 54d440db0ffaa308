"""Runs, results, studies, and what a replication model is."""
