"""Replication models, one product per file, with their versions and calibrated packs."""
