"""The reference agent: the rooms put together over one store, for one user and one session."""
