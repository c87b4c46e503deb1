"""Worked rewards, each with its cases: starting points to copy.

Load one with `rk.load_reward("gallery:arithmetic")`.
"""
