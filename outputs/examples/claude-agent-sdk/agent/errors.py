"""The errors of this package that somebody can act on; each knows its exit code."""


class AgentError(Exception):
    """Say in one line what happened and what to do next."""

    exit_code = 2
    code = "usage"


class EnvironmentFault(AgentError):
    """Report a setting, a folder or a server without which the agent cannot answer."""

    exit_code = 3
    code = "environment"
