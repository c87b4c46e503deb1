"""Pages of records, as HTML, Markdown and plain text."""
