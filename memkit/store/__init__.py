"""The store on disk: git, YAML, configuration, audit and sessions."""
