"""Processes whose calls can be killed."""
