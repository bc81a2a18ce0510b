"""The command; see the package."""

import sys

from tests.endurance.soak import run

sys.exit(run())
