"""A run over its steps: what changed, since when, and what is newly paid."""
