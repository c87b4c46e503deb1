"""Find suspects: completions that may be paid for an exploit."""
