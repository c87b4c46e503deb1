"""Answers: how completions state them, of what kind they are, and which are right."""
