"""Galera's group communication: extended virtual synchrony, views, the primary component."""
