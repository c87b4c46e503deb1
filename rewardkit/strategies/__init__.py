"""Strategies: what makes completions of a subject, each with what they must not earn, or lose."""
