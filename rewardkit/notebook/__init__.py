"""What a person sees: plots, tables, a workbench, notebook parameters and report pages.

Needs the extra `notebook`.
"""

try:
    import ipywidgets as _ipywidgets  # noqa: F401
    import matplotlib as _matplotlib  # noqa: F401
    import papermill as _papermill  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"rewardkit.notebook needs {error.name}, which the extra 'notebook' brings: pip install "
        "'reward-workbench[notebook]'",
        name=error.name,
    ) from None
