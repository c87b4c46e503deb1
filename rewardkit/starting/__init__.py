"""The first hour of a new task: a reward, its cases and a notebook, written from a log."""
