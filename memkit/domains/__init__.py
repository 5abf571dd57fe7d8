"""Planning domains of a store: files, recorded problems and their proofs, learned methods, and the runs of plans."""
