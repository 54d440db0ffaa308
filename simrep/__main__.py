"""``python -m simrep``."""

from simrep.cli import main

if __name__ == "__main__":
    main()
