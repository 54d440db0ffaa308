"""Drills: what a catalogue of faults costs, product by product and setting by setting."""
