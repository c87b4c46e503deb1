"""These tests need trainers: `make test-trainers` runs them where those are installed."""

import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "sampling"))  # its server

if "REWARDKIT_TRAINERS" not in os.environ:
    collect_ignore_glob = ["*.py"]
elif importlib.util.find_spec(
    "siirl"
):  # its image models want torchvision, which is not installed for them
    import datasets  # noqa: F401  these look for torchvision themselves, before the stand-in is there
    import transformers  # noqa: F401

    for name in (
        "torchvision",
        "torchvision.transforms",
        "torchvision.transforms.functional",
    ):
        sys.modules.setdefault(name, ModuleType(name))
    sys.modules["torchvision"].transforms = sys.modules["torchvision.transforms"]
    sys.modules[
        "torchvision.transforms.functional"
    ].InterpolationMode = SimpleNamespace(BICUBIC=3)


def without_jax():
    """Let Tunix's reward manager be imported where JAX, which it does not use, is not installed."""
    spec = importlib.util.find_spec("tunix")
    for name in (
        ("tunix", "tunix.rl")
        if spec and importlib.util.find_spec("jax") is None
        else ()
    ):
        package = ModuleType(name)
        package.__spec__ = ModuleSpec(name, None, is_package=True)
        inner = name.split(".")[1:]
        package.__path__ = [
            str(Path(place, *inner)) for place in spec.submodule_search_locations
        ]
        package.__spec__.submodule_search_locations = package.__path__
        sys.modules[name] = package


if "REWARDKIT_TRAINERS" in os.environ:
    without_jax()
