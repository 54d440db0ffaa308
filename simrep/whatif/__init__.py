"""Questions that take many runs, or none: sweeps, comparisons, planning, sensitivity."""
