"""The toolbox as LangChain tools."""

from __future__ import annotations

from collections.abc import Callable

from langchain_core.tools import BaseTool, StructuredTool
from memkit_runtime.loop.core import Tools


def tools_of(toolbox: Tools) -> list[BaseTool]:
    """Return every tool that a model may call; the toolbox checks the arguments, so the schema is passed on as is."""
    return [
        StructuredTool(
            name=spec.name,
            description=spec.description,
            args_schema=dict(spec.parameters),
            func=_body(toolbox, spec.name),
        )
        for spec in toolbox.specs()
    ]


def _body(toolbox: Tools, name: str) -> Callable[..., str]:
    def run(**args: object) -> str:
        return toolbox.execute(name, args).text

    return run
