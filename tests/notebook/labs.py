"""A JupyterLab of its own for tests and benchmarks, and its notebooks run in a page."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-dev-shm-usage "
    "--disable-background-networking --disable-component-update --disable-sync"
).split()
STARTS_WITHIN, RUNS_WITHIN = 90, 120  # seconds


def write_notebook(path, cells):
    """A notebook of these code cells."""
    kernel = {
        "kernelspec": {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
    }
    notebook = new_notebook(
        cells=[new_code_cell(cell) for cell in cells], metadata=kernel
    )
    nbformat.write(notebook, path)


@contextmanager
def started(folder):
    """Address and token of a JupyterLab on the folder, with settings of its own beside it."""
    home = folder.parent
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
    options = [
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}",
    ]
    options += [
        f"--ServerApp.root_dir={folder}",
        "--no-browser",
        "--ServerApp.allow_root=True",
    ]
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
        _leave_no_cell_out(address, token)
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


def _leave_no_cell_out(address, token):
    """Windowed notebooks leave cells out of the page; tests need all of them."""
    body = json.dumps({"raw": json.dumps({"windowingMode": "none"})}).encode()
    url = f"{address}/lab/api/settings/@jupyterlab/notebook-extension:tracker?token={token}"
    request = urllib.request.Request(
        url, data=body, method="PUT", headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 204


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
        for at, cell in enumerate(
            page.locator(".jp-CodeCell:has(.jp-OutputArea-output)").all()
        ):
            cell.scroll_into_view_if_needed()
            cell.screenshot(path=folder / f"{Path(name).stem}-{at:02d}.png")
