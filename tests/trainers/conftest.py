"""These tests need trainers: `make test-trainers` runs them where those are installed."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "sampling"))  # its server

if "REWARDKIT_TRAINERS" not in os.environ:
    collect_ignore_glob = ["*.py"]
elif importlib.util.find_spec("siirl"):  # its image models want torchvision, which is not installed for them
    import datasets  # noqa: F401  these look for torchvision themselves, before the stand-in is there
    import transformers  # noqa: F401

    for name in ("torchvision", "torchvision.transforms", "torchvision.transforms.functional"):
        sys.modules.setdefault(name, ModuleType(name))
    sys.modules["torchvision"].transforms = sys.modules["torchvision.transforms"]
    sys.modules["torchvision.transforms.functional"].InterpolationMode = SimpleNamespace(BICUBIC=3)
