"""What records look like in a notebook."""
