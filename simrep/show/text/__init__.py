"""Tables of results, for a terminal and a notebook."""
