"""Mathematics: LaTeX, units, symbolic equality."""
