"""The notebooks in a real JupyterLab, driven by a real browser: one server and one page for all."""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from rewardkit.bundle import bundled

pytestmark = pytest.mark.browser
STARTS_WITHIN, RUNS_WITHIN = 90, 120  # seconds


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Address of a JupyterLab on a copy of the notebooks, with settings of its own."""
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(bundled("notebooks"), home / "work")
    cells = ["from rewardkit.notebook import display", "display.scroll_what_is_printed()"]
    cells += ["print('row\\n' * 5000)", "print('one line')"]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    printing = new_notebook(cells=[new_code_cell(cell) for cell in cells], metadata=kernel)
    nbformat.write(printing, home / "work/printing.ipynb")
    settings = home / "settings/@jupyterlab/apputils-extension"
    settings.mkdir(parents=True)
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(quiet))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(8)
    places = {
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
    }
    options = [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}"]
    options += [f"--ServerApp.root_dir={home / 'work'}", "--no-browser", "--ServerApp.allow_root=True"]
    with (home / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyter", "lab", *options],
            env={**os.environ, **{name: str(path) for name, path in places.items()}},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + STARTS_WITHIN
        while not _answers(f"{address}/api/status?token={token}"):
            assert server.poll() is None, (home / "log").read_text()[-2000:]
            assert time.monotonic() < deadline, (home / "log").read_text()[-2000:]
            time.sleep(0.3)
        yield address, token
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=20)


def _answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.fixture(scope="module")
def page(lab, browser):
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(30_000)
    yield page
    context.close()


def run_all(page, lab, name):
    """Open a notebook in a workspace of its own, run all its cells, wait until its kernel is idle."""
    address, token = lab
    page.goto(f"{address}/lab/workspaces/{Path(name).stem}/tree/{name}?token={token}")
    page.locator(".jp-Notebook").wait_for(timeout=STARTS_WITHIN * 1000)
    idle = page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']")
    page.locator(".jp-KernelName", has_text="Python 3").wait_for()
    idle.wait_for(timeout=STARTS_WITHIN * 1000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.wait_for_function(
        """() => {
            const notebook = document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook');
            const cells = [...notebook.querySelectorAll('.jp-CodeCell')];
            const prompts = cells.map(cell => cell.querySelector('.jp-InputPrompt')?.textContent ?? '[*]');
            return cells.length > 3 && prompts.every(text => /\\[\\d+\\]/.test(text));
        }""",
        timeout=RUNS_WITHIN * 1000,
    )
    idle.wait_for(timeout=RUNS_WITHIN * 1000)
    if os.environ.get("SCREENSHOTS"):
        folder = Path(os.environ["SCREENSHOTS"])
        folder.mkdir(parents=True, exist_ok=True)
        for at, cell in enumerate(page.locator(".jp-CodeCell:has(.jp-OutputArea-output)").all()):
            cell.scroll_into_view_if_needed()
            cell.screenshot(path=folder / f"{Path(name).stem}-{at:02d}.png")


@pytest.fixture(autouse=True)
def whole_notebook(lab):
    """Windowed notebooks leave cells out of the page; tests need all of them."""
    address, token = lab
    body = json.dumps({"raw": json.dumps({"windowingMode": "none"})}).encode()
    url = f"{address}/lab/api/settings/@jupyterlab/notebook-extension:tracker?token={token}"
    request = urllib.request.Request(
        url, data=body, method="PUT", headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 204


@pytest.mark.parametrize("name", ["02_check.ipynb", "03_analyze.ipynb"])
def test_a_notebook_runs_from_top_to_bottom_in_the_browser(page, lab, name):
    run_all(page, lab, name)
    assert (
        page.locator(
            ".jp-RenderedText[data-mime-type*='stderr'], .jp-OutputArea-output[data-mime-type*='error']"
        ).count()
        == 0
    )
    assert page.locator(".rewardkit table").first.is_visible()


def test_a_weight_that_is_moved_in_the_browser_changes_the_picture(page, lab):
    run_all(page, lab, "01_build.ipynb")
    assert page.locator(".jp-OutputArea-output[data-mime-type*='error']").count() == 0
    picture = page.locator(".rewardkit-weights-picture")
    before = picture.inner_text()
    assert "of 200 groups tied" in before
    number = page.locator(".rewardkit-weight-format .widget-readout")
    number.click()
    page.keyboard.press("Control+A")
    page.keyboard.type("0.35")
    page.keyboard.press("Enter")
    page.locator(".rewardkit-weights-picture", has_text="scores.reweigh({'format': 0.35})").wait_for()
    assert picture.inner_text() != before
    assert picture.locator("svg rect").count() == 40


def test_what_a_cell_prints_scrolls_in_a_box_and_nothing_of_it_is_lost(page, lab):
    run_all(page, lab, "printing.ipynb")
    long, short = page.locator(".jp-OutputArea-output[data-mime-type*='stdout']").all()
    assert long.inner_text().count("row") == 5000
    assert 100 < long.bounding_box()["height"] < 400
    assert short.bounding_box()["height"] < 40
