"""Lets the tests of this folder import `planted_probes` and `probed`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "probes"))
