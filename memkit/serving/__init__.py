"""A store for other programs: MCP over standard streams and HTTP, tokens, and entries in clients' configurations."""
