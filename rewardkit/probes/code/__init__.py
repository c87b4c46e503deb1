"""What the code of a reward holds: texts, numbers, patterns, a judge's verdicts."""
