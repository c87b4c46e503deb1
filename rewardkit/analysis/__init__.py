"""From scores to findings and suggestions: arrays and tables in, records out."""
