"""Write a first reward for a new task from a log."""
