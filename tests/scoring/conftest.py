"""What the tests of this folder need: `scored` can be imported, and the fixture `serve`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from serving import serve

__all__ = ["serve"]
