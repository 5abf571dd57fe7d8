"""Storage other than files: archives and short-lived tiers on a server. The client libraries are extras."""
