"""Read and write HDDL, the language in which planning competitions write hierarchical domains and problems."""
