"""The names of `rewardkit`: all there, imported when they are asked for."""

import ast
import subprocess
import sys
from pathlib import Path

import rewardkit as rk

STUB = Path(rk.__file__).with_suffix(".pyi")


def test_every_name_is_what_the_stub_says_and_is_found_by_completion():
    stub = ast.parse(STUB.read_text())
    (listed,) = (ast.literal_eval(item.value) for item in stub.body if isinstance(item, ast.Assign))
    assert rk.__all__ == sorted(listed) and set(listed) <= set(dir(rk))
    for item in stub.body:
        for name in item.names if isinstance(item, ast.ImportFrom) else ():
            assert (name.asname or name.name in listed) or item.module.startswith("rewardkit.notebook")
            value = getattr(rk, name.asname or name.name)
            assert value.__name__ in (name.name, f"{item.module}.{name.name}")


def test_a_module_that_was_imported_before_does_not_stand_for_a_name_and_a_trainer_waits_for_no_pandas():
    code = """
import sys, rewardkit as rk
rk.Reward, rk.Component, rk.extract, rk.verify, rk.measure, rk.siblings, rk.weigh, rk.gate
rk.Route, rk.targets
print({"pandas", "pyarrow", "matplotlib", "jsonschema_rs", "openai"} & set(sys.modules))
import importlib, pkgutil
for found in pkgutil.walk_packages(rk.__path__, "rewardkit."):
    if not found.name.startswith(("rewardkit.notebook", "rewardkit.cli")):
        importlib.import_module(found.name)
print([name for name in rk.__all__ if type(getattr(rk, name)).__name__ == "module"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = "['extract', 'judges', 'measure', 'siblings', 'targets', 'verify', 'weigh']"
    assert done.stdout.splitlines() == ["set()", modules]
