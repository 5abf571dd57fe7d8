"""A difference and a review as text, Markdown, a page and data."""
