"""Lets the tests of this folder import `planted_probes`, `probed` and `labelled`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
