"""Planning domains of a store: files, recorded problems and what they prove, learned methods, and the runs of plans."""
