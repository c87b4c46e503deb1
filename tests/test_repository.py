"""What holds the files of the repository to each other."""

import doctest
import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def tracked():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_the_readme_does_what_it_shows(monkeypatch):
    monkeypatch.chdir(ROOT)
    failed, attempted = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert attempted >= 10
    assert failed == 0


def test_the_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert len(links) > 4
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_conda_environment_is_the_notebook_extra_of_the_same_python():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["channels"] == ["conda-forge"]
    python, pip, through_pip = environment["dependencies"]
    assert python == f"python{PROJECT['requires-python']}"
    assert pip == "pip"
    assert through_pip == {"pip": ["-e .[notebook]"]}
    assert "notebook" in PROJECT["optional-dependencies"]


def test_every_dependency_that_ci_installs_is_pinned_in_the_constraints():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {re.sub(r"[-_.]+", "-", line.partition("==")[0]).lower() for line in lines if "==" in line}
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *extras["notebook"], *extras["test"]]
    names = {re.sub(r"[-_.]+", "-", re.match(r"[A-Za-z0-9._-]+", item)[0]).lower() for item in wanted}
    assert names - pinned == set()
    assert all(re.fullmatch(r"[\w.-]+==[\w.+!-]+", line) for line in lines if not line.startswith("#"))


def test_no_file_names_an_index_address_or_a_path_of_a_machine():
    hosts = re.compile(
        r"(index-url|find-links)\s*=?\s*(https?|file):|//(test\.)?pypi\.org/simple|files\.pythonhosted"
    )
    places = re.compile(r"(^|[^\w./-])/(root|home|work|Users)/")
    for path in tracked():
        if path.suffix in (".png", ".jsonl", ".gz") or path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8")
        assert not hosts.search(text), path
        assert not places.search(text), path


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_committed_without_outputs_and_with_parameters(path):
    notebook = json.loads(path.read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    parameters = [cell for cell in code if "parameters" in cell["metadata"].get("tags", [])]
    assert len(parameters) == 1
    lines = [line.strip() for line in parameters[0]["source"]]
    assert all(re.match(r"\w+: [\w\[\] |]+ = .+  # \w", line) for line in lines), lines
