"""Score rollouts column by column; README.md has the walk."""
