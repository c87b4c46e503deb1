"""Worker processes whose calls can be killed."""
