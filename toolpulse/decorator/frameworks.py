"""Tool objects of agent frameworks: where each keeps the callable that it really calls.

A framework never calls its tool object the way a decorator could see, so that a wrapped one would go unwatched without
a word. What is watched is the callable inside, exchanged in place. No framework is imported: an object is known by the
module that one of its classes comes from, and by its attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from toolpulse.errors import DecorationError


class Framework(NamedTuple):
    """Where the tool objects of one framework keep their callables.

    ``attributes`` (dotted where the holder is nested) are exchanged wherever they hold a callable. If none does,
    ``methods`` are, those that the user's subclass defines: the framework's own end in one of the others.
    """

    name: str
    module: str
    attributes: tuple[str, ...]
    methods: tuple[str, ...] = ()


FRAMEWORKS = (
    Framework("LangChain", "langchain_core", ("func", "coroutine"), ("_run", "_arun")),
    Framework("OpenAI Agents", "agents", ("on_invoke_tool",)),
    Framework("Pydantic AI", "pydantic_ai", ("function", "function_schema.function")),
    Framework("LlamaIndex", "llama_index", ("_fn", "_async_fn")),
    Framework("FastMCP", "fastmcp", ("fn",)),
    Framework("MCP", "mcp", ("fn",)),
    Framework("Google ADK", "google.adk", ("func",)),
    Framework("AutoGen", "autogen_core", ("_func",)),
    Framework("Agno", "agno", ("entrypoint",)),
    Framework("Strands", "strands", ("_tool_func",)),
    Framework("Haystack", "haystack", ("function", "async_function")),
    Framework("DSPy", "dspy", ("func",)),
    Framework("Semantic Kernel", "semantic_kernel", ("method", "stream_method")),
    Framework("Claude Agent SDK", "claude_agent_sdk", ("handler",)),
    Framework("CrewAI", "crewai", ("func",), ("_run", "_arun")),
    Framework("smolagents", "smolagents", ("forward",)),
    Framework("Agent Framework", "agent_framework", ("func",)),
    Framework("LiveKit", "livekit.agents", ("_func",)),
)

_ENTRANCES = ("invoke", "ainvoke", "run", "arun", "run_async", "run_json", "stream", "acall", "on_invoke_tool")
_RIGHT_ORDER = "watch the function inside instead: put the framework's decorator above @watch"

NameOf = Callable[[Any], str]
Watch = Callable[[Any, str], Any]
"""Takes a callable and the tool's name; returns the watched callable, or the same one if it is watched already."""


def framework_of(target: object) -> Framework | None:
    """Return the framework that ``target`` is a tool object of."""
    for framework in FRAMEWORKS:
        if any(_is_of(framework, base) for base in type(target).__mro__) and any(
            hasattr(holder, attribute) for holder, attribute in _places(target, framework)
        ):
            return framework
    return None


def looks_like_a_tool(target: object) -> bool:
    """Tell whether ``target`` has a name, a description and an entrance other than being called."""
    described = isinstance(getattr(target, "name", None), str) and isinstance(getattr(target, "description", None), str)
    return described and any(callable(getattr(target, entrance, None)) for entrance in _ENTRANCES)


def refusal(target: object) -> DecorationError:
    """Return the error for a tool object of which nobody knows where its function is."""
    kind = type(target)
    return DecorationError(
        f"cannot watch a {kind.__module__}.{kind.__qualname__}: it looks like a tool object, which is not called "
        f"but entered by a method of its own; {_RIGHT_ORDER}"
    )


def watch_inside(target: object, framework: Framework, watch: Watch, name_of: NameOf) -> None:
    """Exchange the callables inside ``target`` for watched ones: all of them, or none and an error.

    The tool is named after the user's function; where the framework has hidden it in one of its own, after the object.
    Raises DecorationError where there is no callable, or where the object does not keep what it is given.
    """
    found = _callables(target, framework)
    if not found:
        raise DecorationError(f"this {framework.name} tool holds no function that could be watched; {_RIGHT_ORDER}")
    name = _name(target, framework, [inner for _, _, inner in found], name_of)
    watched = {id(inner): watch(inner, name) for inner in {id(inner): inner for _, _, inner in found}.values()}
    exchanged: list[tuple[object, str, Any]] = []
    for holder, attribute, inner in found:
        if not _put(holder, attribute, watched[id(inner)]):
            for undo in exchanged:
                _put(*undo)
            raise DecorationError(f"this {framework.name} tool does not let {attribute!r} be exchanged; {_RIGHT_ORDER}")
        exchanged.append((holder, attribute, inner))


def _callables(target: object, framework: Framework) -> list[tuple[object, str, Any]]:
    found = [
        (holder, attribute, inner)
        for holder, attribute in _places(target, framework)
        if attribute not in framework.methods and callable(inner := getattr(holder, attribute, None))
    ]
    return found or [(target, method, getattr(target, method)) for method in _own_methods(target, framework)]


def _places(target: object, framework: Framework) -> list[tuple[object, str]]:
    places = []
    for dotted in (*framework.attributes, *framework.methods):
        *way, attribute = dotted.split(".")
        holder = target
        for step in way:
            holder = getattr(holder, step, None)
        places.append((holder, attribute))
    return places


def _own_methods(target: object, framework: Framework) -> list[str]:
    """The methods that a class outside the framework defines."""
    definers = {
        method: next((base for base in type(target).__mro__ if method in vars(base)), None)
        for method in framework.methods
    }
    return [method for method, base in definers.items() if base is not None and not _is_of(framework, base)]


def _name(target: object, framework: Framework, inner: list[Any], name_of: NameOf) -> str:
    for function in inner:
        if not _is_of(framework, function):
            return name_of(function)
    for holder in (target, getattr(target, "metadata", None)):
        if isinstance(name := getattr(holder, "name", None), str):
            return name
    return name_of(inner[0])


def _is_of(framework: Framework, thing: Any) -> bool:
    module = getattr(thing, "__module__", None)
    return isinstance(module, str) and (module == framework.module or module.startswith(f"{framework.module}."))


def _put(holder: object, attribute: str, value: object) -> bool:
    """Set an attribute, also of a frozen object, and tell whether it was kept."""
    try:
        setattr(holder, attribute, value)
    except (AttributeError, TypeError, ValueError):
        try:
            object.__setattr__(holder, attribute, value)
        except (AttributeError, TypeError):
            return False
    return getattr(holder, attribute, None) is value
