"""The interactive panel: ipywidgets over records and functions of arrays."""
