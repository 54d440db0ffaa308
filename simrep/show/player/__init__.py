"""A page that plays a run: a document of the run, and the script that draws it."""
