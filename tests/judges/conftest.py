"""What all tests of judges need: the fixtures `serve` and `alone`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from serving import alone, serve

__all__ = ["alone", "serve"]
