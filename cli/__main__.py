"""`python -m cli`: the command `roamcast`, as the launcher starts it."""
import sys

from cli.main import main

if __name__ == "__main__":
    sys.exit(main())
