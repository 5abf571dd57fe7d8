"""The meaning of a change of a store, described for reviewers by skills, policies, domains, settings and memory."""
