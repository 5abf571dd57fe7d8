"""The memory interfaces of other frameworks on a memkit store; each module needs its framework's package."""
