"""Plots, tables, the workbench, notebook parameters and report pages.

Needs the extra `notebook`.
"""

from importlib.util import find_spec as _find_spec

for _name in (
    "ipywidgets",
    "matplotlib",
    "papermill",
):  # not imported: papermill alone takes seconds
    if _find_spec(_name) is None:
        raise ModuleNotFoundError(
            f"rewardkit.notebook needs {_name}, which the extra 'notebook' brings: "
            "pip install 'reward-workbench[notebook]'",
            name=_name,
        )
