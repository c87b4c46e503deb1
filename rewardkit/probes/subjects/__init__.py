"""Subjects: prompts with a completion that is known to be right, and what right and wrong earn there."""
