"""Group communication: total order over a mesh of members."""
