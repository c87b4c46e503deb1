"""Requirements: the packages that an exported file imports, and how to install them."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from importlib.metadata import packages_distributions, requires, version

OURS = "reward-workbench"
"""The package that has rewardkit."""


def find_requirements(modules: Collection[str]) -> tuple[str, ...]:
    """Return what `pip install` needs for these modules, such as "sympy==1.13.3".

    The versions are those that are installed here; a module that no package here has
    stands as it is. Modules of Python and what rewardkit needs itself are left out.
    """
    bundled = {*sys.stdlib_module_names, "rewardkit"}
    names = {name.partition(".")[0] for name in modules} - bundled
    if not names:
        return ()
    packages = packages_distributions()
    with_ours = _core_requirements()
    requirements = set()
    for name in names:
        package = packages.get(name, [name])[0]
        if package.lower().replace("_", "-") in with_ours:
            continue
        is_here = name in packages
        requirements.add(f"{package}=={version(package)}" if is_here else name)
    return tuple(sorted(requirements))


def _core_requirements() -> set[str]:
    """Return the names of the packages that rewardkit needs without any extra."""
    names = set()
    for text in requires(OURS) or []:
        if "extra ==" not in text:
            names.add(re.split(r"[^\w.-]", text)[0].lower())
    return names


def install_sentence(ours: str, requirements: Collection[str]) -> str:
    """Say how to install what a file imports, where it is to run."""
    sentence = (
        f"install there: {OURS} {ours} (from its checkout: pip install .), imported as "
        "rewardkit"
    )
    if requirements:
        listed = " ".join(f"'{requirement}'" for requirement in requirements)
        sentence += f"; and pip install {listed}"
    return sentence
