"""Suspects: completions of a log that look as if they were paid for an exploit."""
