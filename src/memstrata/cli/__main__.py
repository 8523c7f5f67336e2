"""`python -m memstrata.cli`: how the demo starts a server of its own, whatever the PATH is."""

import sys

from memstrata.cli import main

if __name__ == "__main__":
    sys.exit(main())
