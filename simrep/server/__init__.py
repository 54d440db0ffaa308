"""What a database server is made of: machine, threads, locks, logs, certification, appliers."""
