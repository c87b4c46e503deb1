"""Monitor a run over its steps: what changed, when, and what is newly paid."""
