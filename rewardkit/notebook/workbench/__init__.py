"""The interactive panel: ipywidgets over records; figures, filters and pictures are functions of arrays."""
