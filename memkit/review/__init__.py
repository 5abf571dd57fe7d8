"""What a change of a store means: described by skills, policies, domains, settings and memory, for who reviews it."""
