"""Strategies: completions that are written without the truth, near it, or beside it.

They are written here and judged elsewhere.
"""
