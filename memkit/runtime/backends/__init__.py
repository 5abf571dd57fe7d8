"""Where memory is kept besides files: archives and short-lived tiers behind a server. Its libraries are extras."""
