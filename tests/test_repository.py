"""What holds the files of the repository to each other."""

import doctest
import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]


def test_the_readme_does_what_it_shows(monkeypatch):
    monkeypatch.chdir(ROOT)
    failed, attempted = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert attempted >= 10 and failed == 0


def test_the_links_of_the_readme_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text())
    assert len(links) > 4
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_wheel_has_all_data_but_the_trainings():
    included = SETTINGS["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    shipped = {name for name in included if name.startswith("data")}
    folders = {f"data/{path.name}" for path in (ROOT / "data").iterdir()}
    assert shipped == folders - {"data/training"}


def test_the_conda_environment_is_the_notebook_extra_of_the_same_python():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python = f"python{PROJECT['requires-python']}"
    assert environment["dependencies"] == [python, "pip", {"pip": ["-e .[notebook]"]}]


def named(requirement):
    return re.sub(r"[-_.]+", "-", re.match(r"[A-Za-z0-9._-]+", requirement)[0]).lower()


def test_every_dependency_that_ci_installs_is_pinned_in_the_constraints():
    lines = [
        line
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line[:1] != "#"
    ]
    assert all(re.fullmatch(r"[\w.-]+==[\w.+!-]+", line) for line in lines)
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *extras["notebook"], *extras["test"]]
    assert set(map(named, wanted)) - set(map(named, lines)) == set()


def test_no_file_names_an_index_address_or_a_path_of_a_machine():
    hosts = re.compile(
        r"(index-url|find-links)\s*=?\s*(https?|file):|//(test\.)?pypi\.org/simple|files\.pythonhosted"
    )
    places = re.compile(r"(^|[^\w./-])/(root|home|work|Users)/")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "README.md" in listed.stdout
    for path in (ROOT / name for name in listed.stdout.split("\0")):
        if (
            path.is_file()
            and path.suffix not in (".png", ".jsonl", ".gz", ".parquet", ".safetensors")
            and path != Path(__file__)
        ):
            text = path.read_text(encoding="utf-8")
            assert not hosts.search(text) and not places.search(text), path


@pytest.mark.parametrize(
    "path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem
)
def test_a_notebook_is_committed_without_outputs_and_with_parameters(path):
    notebook = json.loads(path.read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    (parameters,) = (
        cell for cell in code if "parameters" in cell["metadata"].get("tags", [])
    )
    lines = [line.strip() for line in parameters["source"]]
    assert all(re.match(r"\w+: [\w\[\] |]+ = .+  # \w", line) for line in lines), lines
