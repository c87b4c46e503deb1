"""Search: completions beyond the strategies, by edits of those that are paid most."""
