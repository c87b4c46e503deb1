"""Scores in folders: saved scorings, kept runs, and recordings of trainings."""
