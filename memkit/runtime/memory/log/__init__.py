"""Where what was remembered is written: lines appended to shards, and what may be wrong with them."""
