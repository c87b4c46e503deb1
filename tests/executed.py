"""A notebook run in this process: what is on its pages, without waiting for a kernel."""

from pathlib import Path

import matplotlib.pyplot as plt
from IPython.core.displayhook import CapturingDisplayHook
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbformat.v4 import new_output
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from rewardkit.notebook.report.executed import story_of
from rewardkit.notebook.report.pages import Page
from rewardkit.notebook.scorecard import Short
from rewardkit.rollouts.package_data import bundled


def executed(path, **values):
    """The notebook with these parameters when it has run, to its first error; and that error.

    A path without a folder and an ending is the stem of a notebook of the package.
    """
    path = path if "." in str(path) else bundled(f"notebooks/{path}.ipynb")
    path = Path(path).resolve()  # papermill reads from the folder of the last report
    notebook, error = parameterize_notebook(load_notebook_node(str(path)), values), None
    shell = InteractiveShell.instance()
    try:
        for cell in notebook.cells:
            if cell.cell_type != "code" or error:
                continue
            shell.display_trap.hook = CapturingDisplayHook(shell, results := [])
            with capture_output() as captured:
                done = shell.run_cell(cell.source)
            shown = [] if cell.source.rstrip().endswith(";") else results
            streams = {"stdout": captured.stdout, "stderr": captured.stderr}
            cell.outputs = [
                new_output("stream", name=name, text=text) for name, text in streams.items() if text
            ]
            cell.outputs += [new_output("display_data", one.data) for one in captured.outputs]
            cell.outputs += [new_output("execute_result", one["data"]) for one in shown]
            error = done.error_before_exec or done.error_in_exec
            if error:
                said = {"ename": type(error).__name__, "evalue": str(error)}
                cell.outputs.append(new_output("error", **said, traceback=[str(error)]))
    finally:
        shell.history_manager.end_session()
        InteractiveShell.clear_instance()
        plt.close("all")
    return notebook, error


def page_here(stem, title, out, given, slug, redact):
    """What a report makes of a notebook, as its own `_run` does with a kernel."""
    source = load_notebook_node(str(bundled(f"notebooks/{stem}.ipynb")))
    (cell,) = (cell for cell in source.cells if "parameters" in cell.metadata.tags)
    known = {line.partition(":")[0] for line in cell.source.splitlines()}
    notebook, error = executed(stem, **{name: value for name, value in given.items() if name in known})
    story = story_of(notebook, redact=redact)
    failed = str(error) if error else None
    return Page(title, f"{slug}/{stem}.html", story, failed, Short.found(notebook))
