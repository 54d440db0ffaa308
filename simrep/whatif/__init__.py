"""What-if questions: sweeps, comparisons, inverse questions."""
