"""Run the tests that need trainers, each in an environment of its own; print what was proved of which target.

`make test-trainers`; arguments name environments of `environments.toml`, all by default. `--make` only makes them.
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
VENVS = ROOT / ".venv-trainers"
GALLERY = "tests/trainers/test_gallery_exports.py"
AT_A_TIME = 2  # environments: one is unpacked while another is tested
STEPS = ("recognised", "read", "written", "called", "equal")


def interpreter(version):
    """A Python of this version: the one that runs, else one that can be found; None where there is none."""
    if sys.version.startswith(f"{version}."):
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for place in (
        f"python{version}",
        *map(str, pyenv.glob(f"versions/{version}.*/bin/python")),
    ):
        try:
            subprocess.run([place, "-c", ""], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return place
    return None


def made(name, wanted):
    """The Python of an environment, made anew when what it needs has changed."""
    folder = VENVS / name
    python = folder / "bin" / "python"
    stamp = folder / "made-of.json"
    files = [
        (ROOT / file).read_text() for file in ("pyproject.toml", "constraints.txt")
    ]
    content = json.dumps([wanted, *files])
    if stamp.is_file() and stamp.read_text() == content:
        return python
    base = interpreter(wanted["python"])
    if base is None:
        sys.exit(
            f"environment {name!r} needs Python {wanted['python']}, which is not on this machine"
        )
    pip = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    steps = [
        [base, "-m", "venv", "--clear", str(folder)],
        [*pip, "-e", str(ROOT), "pytest", "hypothesis", *wanted["install"]],
    ]
    if wanted.get("no_deps"):
        steps.append([*pip, "--no-deps", *wanted["no_deps"]])
    for step in steps:
        subprocess.run(step, check=True)
    stamp.write_text(content)
    return python


def tested(name, wanted, table):
    """Whether the tests of an environment pass, its own and every gallery reward for each target it has.

    What they print is shown when they are over: two environments are tested at a time.
    """
    python = made(name, wanted)
    environment = {
        **os.environ,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # eval-protocol would ask the network for it
        "HF_HUB_OFFLINE": "1",  # a model that is nowhere would be asked for again and again
        "REWARDKIT_TABLE": str(table),
        "REWARDKIT_TRAINERS": name,
        "REWARDKIT_TARGETS": " ".join(wanted["targets"]),
    }
    options = [
        "-q",
        "-rs",
        "-W",
        "default",
        "--disable-warnings",
        "-p",
        "no:cacheprovider",
    ]
    gallery = [GALLERY] if wanted["targets"] else []
    command = [str(python), "-m", "pytest", *options, *wanted["tests"], *gallery]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(command, cwd=ROOT, env=environment, **streams)
    installed = ", ".join([*wanted["install"], *wanted.get("no_deps", [])])
    print(f"== {name}: {installed}\n{done.stdout}", flush=True)
    return done.returncode == 0


def text_of(tables, reasons):
    """One table of all: target by step, and by whose code; what is not proved with its reason."""
    lines = [
        json.loads(line)
        for table in tables
        if table.exists()
        for line in table.read_text().splitlines()
    ]
    rows = [("target", *STEPS, "by")]
    for target in dict.fromkeys([*(line["target"] for line in lines), *reasons]):
        own = [line for line in lines if line["target"] == target]
        steps = {line["step"] for line in own}
        by = [*(line["by"] for line in own if line["by"]), reasons.get(target, "")]
        told = "; ".join(filter(None, dict.fromkeys(by)))
        rows.append(
            (target, *("yes" if step in steps else "-" for step in STEPS), told)
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = (
        (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join("  ".join(row).rstrip() for row in cells)


def main(names):
    """Run the environments of these names; the exit status is 1 where a test failed."""
    described = tomllib.loads((HERE / "environments.toml").read_text())
    environments = described["environment"]
    if unknown := [name for name in names if name not in environments]:
        sys.exit(f"no environment {unknown[0]!r}; there are {', '.join(environments)}")
    with tempfile.TemporaryDirectory() as folder:
        chosen = names or list(environments)
        tables = [Path(folder) / f"{name}.jsonl" for name in chosen]
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            wells = list(
                pool.map(
                    tested, chosen, [environments[name] for name in chosen], tables
                )
            )
        passed = dict(zip(chosen, wells, strict=True))
        print(text_of(tables, described.get("reason", {}) if not names else {}))
    failed = [name for name, well in passed.items() if not well]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def make_all():
    """Make all environments and test nothing, one after the other: CI does so while other tests run."""
    described = tomllib.loads((HERE / "environments.toml").read_text())
    for name, wanted in described["environment"].items():
        made(name, wanted)


if __name__ == "__main__":
    if sys.argv[1:] == ["--make"]:
        make_all()
    else:
        main(sys.argv[1:])
