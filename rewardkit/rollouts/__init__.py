"""Logs -> Rollouts: one row a completion."""
