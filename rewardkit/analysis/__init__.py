"""From scores to findings and suggestions: arrays and tables in, records out; never prints, never plots."""
