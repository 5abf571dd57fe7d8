"""One verb per file: what a front door asks of the store."""
