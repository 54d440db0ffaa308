"""Why a run went as it did: one transaction, the slowest ones, a stall."""
