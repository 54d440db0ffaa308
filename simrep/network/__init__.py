"""Latency, links and the mesh between the nodes."""
