"""Scores in folders: what a scoring saved, and what a recorder writes in training."""
