"""What `import rewardkit` does: nothing but define names, and refuse another distribution of its name."""

import subprocess
import sys
from pathlib import Path

import rewardkit as rk

PACKAGE = Path(rk.__file__).parent.parent


def run(code, path):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, timeout=60, check=False,
        cwd=path, env={"PYTHONPATH": f"{path}:{PACKAGE}"},
    )  # fmt: skip


def install(folder, name):
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")


def test_the_clash_with_harbor_rewardkit_is_one_sentence_on_what_to_do(tmp_path):
    install(tmp_path, "harbor-rewardkit")
    done = run("import rewardkit", tmp_path)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith("ImportError: harbor-rewardkit and reward-workbench both install")
    assert "uninstall both, then install reward-workbench alone" in last


def test_importing_beside_another_distribution_has_no_side_effects_and_leaves_jupyter_alone(tmp_path):
    install(tmp_path, "harbor-else")
    before = list(tmp_path.iterdir())
    code = (
        "import sys, logging; before = set(sys.modules); import rewardkit; "
        "assert not logging.getLogger().handlers; "
        "heavy = {'IPython', 'ipywidgets', 'matplotlib', 'papermill', 'sympy'} & set(sys.modules); "
        "heavy |= {'importlib.metadata', 'pandas'} & (set(sys.modules) - before); "
        "assert not heavy, heavy"
    )
    done = run(code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == before
