"""`import rewardkit`: nothing but its names, each imported when asked for; another rewardkit is refused."""

import ast
import subprocess
import sys
from pathlib import Path

import rewardkit as rk

PACKAGE = Path(rk.__file__).parent


def python(code, folder, status=0):
    """What a new process says, beside a folder of distributions."""
    environment = {"PYTHONPATH": f"{folder}:{PACKAGE.parent}"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, cwd=folder, env=environment
    )
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def install(folder, name):
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    )


def test_every_name_is_what_the_stub_says_and_is_found_by_completion():
    stub = ast.parse(PACKAGE.joinpath("__init__.pyi").read_text())
    (listed,) = (
        ast.literal_eval(item.value)
        for item in stub.body
        if isinstance(item, ast.Assign)
    )
    assert rk.__all__ == sorted(listed) and set(listed) <= set(dir(rk))
    for item in stub.body:
        for name in item.names if isinstance(item, ast.ImportFrom) else ():
            assert (name.asname or name.name in listed) or item.module.startswith(
                "rewardkit.notebook"
            )
            value = getattr(rk, name.asname or name.name)
            assert value.__name__ in (name.name, f"{item.module}.{name.name}")


def test_a_module_that_was_imported_before_does_not_stand_for_a_name_and_a_trainer_waits_for_no_pandas(
    tmp_path,
):
    code = """
import logging, sys
before = set(sys.modules)
import rewardkit as rk, rewardkit.scoring.deadlines
assert "numpy" not in sys.modules, "a worker process starts without"
assert not logging.getLogger().handlers and "importlib.metadata" not in set(sys.modules) - before
rk.Reward, rk.Component, rk.extract, rk.verify, rk.measure, rk.siblings, rk.weigh, rk.gate
rk.Route, rk.targets
print({"pandas", "pyarrow", "matplotlib", "jsonschema_rs", "openai", "IPython", "sympy"} & set(sys.modules))
import importlib, pkgutil
for found in pkgutil.walk_packages(rk.__path__, "rewardkit."):
    if not found.name.startswith(("rewardkit.notebook", "rewardkit.cli")):
        importlib.import_module(found.name)
print([name for name in rk.__all__ if type(getattr(rk, name)).__name__ == "module"])
"""
    install(tmp_path, "harbor-else")
    modules = (
        "['extract', 'judges', 'measure', 'siblings', 'targets', 'verify', 'weigh']"
    )
    assert python(code, tmp_path).splitlines() == ["set()", modules]


def test_the_clash_with_harbor_rewardkit_is_one_sentence_on_what_to_do(tmp_path):
    install(tmp_path, "harbor-rewardkit")
    last = python("import rewardkit", tmp_path, status=1).splitlines()[-1]
    assert last.startswith(
        "ImportError: harbor-rewardkit and reward-workbench both install"
    )
    assert "uninstall both, then install reward-workbench alone" in last
