"""Tool objects as the frameworks make them: the module, the attributes, and the way in that a framework takes."""

from __future__ import annotations

import dataclasses
import types


def placed(module, name="Tool", bases=(), **body):
    """A class as if it came from ``module``."""
    return type(name, bases, {"__module__": module, **body})


class Holder:
    name = "weather"
    description = "Say the weather."

    def __init__(self, **attributes):
        vars(self).update(attributes)


def enters(way):
    """A method that calls what the tool keeps at ``way``."""

    def enter(self, *args):
        target = self
        for step in way.split("."):
            target = getattr(target, step)
        return target(*args)

    return enter


def tool(module, way, name="Tool", entrance="invoke", **others):
    """Return a maker of tool objects of ``module`` that keep a function at ``way``."""

    def make(function):
        *holders, attribute = way.split(".")
        kept = {attribute: function}
        for holder in reversed(holders):
            kept = {holder: types.SimpleNamespace(**kept)}
        extra = {key: function if value is ... else value for key, value in others.items()}
        return placed(module, name, (Holder,), **{entrance: enters(way)})(**kept, **extra)

    return make


FRAMEWORKS = {
    "langchain": tool("langchain_core.tools.structured", "func", "StructuredTool", coroutine=None),
    "openai": tool("agents.tool", "on_invoke_tool", "FunctionTool", "run_tool"),
    "pydantic-ai": tool("pydantic_ai.tools", "function_schema.function", function=...),
    "llama-index": tool("llama_index.core.tools.function_tool", "_fn", "FunctionTool", "call", _async_fn=None),
    "fastmcp": tool("fastmcp.tools.tool", "fn", "FunctionTool", "run"),
    "mcp": tool("mcp.server.fastmcp.tools.base", "fn", "Tool", "run"),
    "adk": tool("google.adk.tools.function_tool", "func", "FunctionTool", "run_async"),
    "autogen": tool("autogen_core.tools._function_tool", "_func", "FunctionTool", "run_json"),
    "agno": tool("agno.tools.function", "entrypoint", "Function", "execute"),
    "strands": tool("strands.tools.decorator", "_tool_func", "DecoratedFunctionTool", "stream"),
    "haystack": tool("haystack.tools.tool", "function", async_function=None),
    "dspy": tool("dspy.adapters.types.tool", "func", "Tool", "__call__"),
    "semantic-kernel": tool("semantic_kernel.functions.kernel_function_from_method", "method", stream_method=None),
    "claude": tool("claude_agent_sdk", "handler", "SdkMcpTool", "handle"),
    "crewai": tool("crewai.tools.structured_tool", "func", "CrewStructuredTool"),
    "smolagents": tool("smolagents.tools", "forward", "SimpleTool", "__call__"),
    "agent-framework": tool("agent_framework._tools", "func", "FunctionTool"),
    "livekit": tool("livekit.agents.llm.tool_context", "_func", "FunctionTool", "__call__"),
}

BaseTool = placed("langchain_core.tools.base", "BaseTool", (Holder,))
"""Its subclasses bring ``_run`` and ``_arun``; ``_arun`` of its own runs ``_run``."""
BaseTool._run = placed("langchain_core.tools.base", "X", (), _run=lambda self, *args: None)._run
BaseTool._arun = lambda self, *args: self._run(*args)
BaseTool.invoke = lambda self, *args: self._run(*args)
BaseTool.ainvoke = lambda self, *args: self._arun(*args)


@dataclasses.dataclass(frozen=True)
class FrozenTool:
    handler: object
    name: str = "weather"


FrozenTool.__module__ = "claude_agent_sdk"


@dataclasses.dataclass(frozen=True, slots=True)
class SlottedTool:
    function: object
    async_function: object = None
    name: str = "weather"


SlottedTool.__module__ = "haystack.tools"


class Stubborn(Holder):
    """Keeps one attribute whatever it is given; the other one can be set."""

    def __init__(self, function, async_function):
        vars(self).update(function=function, kept=async_function)

    @property
    def async_function(self):
        """A property, which cannot be set."""
        return self.kept


Stubborn.__module__ = "haystack.tools"
