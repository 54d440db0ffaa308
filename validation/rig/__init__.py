"""The validation rig: real clusters with delays between their nodes, loaded and measured."""
