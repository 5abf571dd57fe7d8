"""One verb per file: the requests that front ends make of the store."""
