"""The errors of a project that somebody can act on; each knows its exit code.

AgentError      2   what was asked for cannot be done as it was said
└── CannotServe 3   a setting, a folder or a server is missing without which the agent cannot answer
"""


class AgentError(Exception):
    """Say in one line what happened and what to do next."""

    exit_code = 2
    code = "usage"


class CannotServe(AgentError):
    """Report a setting, a folder or a server without which the agent cannot answer."""

    exit_code = 3
    code = "environment"
