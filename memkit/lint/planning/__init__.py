"""What can be shown to be wrong in a planning domain that loads: only what holds for every problem is said."""
