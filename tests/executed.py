"""A notebook run in this process: what is on its pages, without waiting for a kernel."""

from pathlib import Path

import matplotlib.pyplot as plt
from IPython.core.displayhook import CapturingDisplayHook
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbformat.v4 import new_output
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from rewardkit.html.excerpts import hide_user_texts
from rewardkit.rollouts.paths import bundled


def executed(path, **values):
    """The notebook with these parameters when it has run, to its first error; and that error.

    A path without a folder and an ending is the stem of a notebook of the package.
    """
    path = Path(path if "." in str(path) else bundled(f"notebooks/{path}.ipynb"))
    notebook = parameterize_notebook(load_notebook_node(str(path.resolve())), values)
    return notebook, run_here(notebook)


def run_here(notebook):
    """Run the cells of a notebook, as a report does with a kernel; the error in which they end."""
    shell, error = InteractiveShell.instance(), None
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
                new_output("stream", name=name, text=text)
                for name, text in streams.items()
                if text
            ]
            cell.outputs += [
                new_output("display_data", one.data) for one in captured.outputs
            ]
            cell.outputs += [new_output("execute_result", one["data"]) for one in shown]
            error = done.error_before_exec or done.error_in_exec
            if error:
                said = {"ename": type(error).__name__, "evalue": str(error)}
                cell.outputs.append(new_output("error", **said, traceback=[str(error)]))
    finally:
        hide_user_texts(False)
        shell.history_manager.end_session()
        InteractiveShell.clear_instance()
        plt.close("all")
    return error
