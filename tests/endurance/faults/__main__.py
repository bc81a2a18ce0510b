"""The command; see the package."""

import sys

from tests.endurance.faults import main

sys.exit(0 if main(names=sys.argv[1:]) else 1)
