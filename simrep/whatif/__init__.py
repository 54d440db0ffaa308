"""What people ask a simulation: comparisons, inverse questions, sweeps."""
