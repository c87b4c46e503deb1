"""Starting: a first reward for a new task, written from a log."""
