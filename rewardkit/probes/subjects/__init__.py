"""Subjects: the prompts that are probed, and what completions earn there."""
