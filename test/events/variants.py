"""Sample values that golden.py cannot derive from the types of fields.

FIELDS has values that validators require. more() returns samples of special cases
(a null action, an image in a message …).
"""

from mcp.types import Tool as MCPTool
from openhands.sdk.event import (
    ActionEvent,
    AgentErrorEvent,
    ConversationStateUpdateEvent,
    MessageEvent,
    ObservationEvent,
    SystemPromptEvent,
)
from openhands.sdk.event.error_classification import FailureKind
from openhands.sdk.llm import (
    ImageContent,
    Message,
    MessageToolCall,
    RedactedThinkingBlock,
    TextContent,
    ThinkingBlock,
)
from openhands.sdk.mcp.definition import MCPToolAction, MCPToolObservation
from openhands.sdk.mcp.tool import MCPToolDefinition
from openhands.sdk.security.risk import SecurityRisk
from openhands.sdk.tool.builtins.finish import (
    FinishAction,
    FinishObservation,
    FinishTool,
)
from openhands.sdk.tool.client_tool import ClientTool, ClientToolSpec
from openhands.sdk.tool.tool import ToolAnnotations
from openhands.tools.file_editor.definition import FileEditorAction
from openhands.tools.task_tracker.definition import TaskTrackerAction
from openhands.tools.terminal.definition import (
    TerminalAction,
    TerminalObservation,
    TerminalTool,
)

# Fields with long texts; they contain all kinds of special characters.
LONG = {
    "command", "text", "message", "thought", "patch", "script", "content",
    "file_text", "old_str", "new_str", "old_content", "new_content", "stdout",
    "file_content", "error", "detail", "summary", "thinking", "arguments",
    "reasoning_content", "prefix", "suffix", "log_data",
}  # fmt: skip


def event_base(number):
    """Return the fixed id, time and parent of the numbered sample of a kind."""
    base = {
        "id": f"00000000-0000-4000-8000-{number + 1:012d}",
        "timestamp": f"2026-11-21T12:00:00.{number:06d}",
    }
    if number:
        base["parent_id"] = f"00000000-0000-4000-8000-{number:012d}" if number < 3 else "__root__"
    return base


def nested():
    """Return a JSON value with numbers and texts that are hard to encode."""
    return {
        "large": 9007199254740993,
        "larger": 18446744073709551616,
        "float": 0.1,
        "tiny": 1e-07,
        "integral": 30.0,
        "negative": -0.5,
        "markup": "<&>\u2028\u2029",
        "empty": {},
        "list": [[], {}, "", 0, False],
        "clé": "漢字 😀",
    }


def text(value):
    return TextContent(text=value)


def call(tool, arguments="{}", origin="completion"):
    return MessageToolCall(id="call_1", name=tool, arguments=arguments, origin=origin)


def terminal_tool():
    return TerminalTool(
        description="Runs <commands> & tells what they print.",
        action_type=TerminalAction,
        observation_type=TerminalObservation,
        annotations=ToolAnnotations(title="terminal", openWorldHint=True),
        meta={"vendor/key": nested()},
    )


def finish_tool():
    return FinishTool(
        description="Ends the task.",
        action_type=FinishAction,
        observation_type=FinishObservation,
    )


def mcp_tool():
    return MCPToolDefinition(
        description="Looks something up.",
        action_type=MCPToolAction,
        observation_type=MCPToolObservation,
        annotations=ToolAnnotations(readOnlyHint=True, destructiveHint=False),
        mcp_tool=MCPTool(
            name="lookup",
            description="Looks something up.",
            inputSchema={"type": "object", "properties": {"q": {"type": "string"}}},
            outputSchema={"type": "object"},
        ),
    )


# Fields with a random default: they have a fixed value in minimal samples too.
RANDOM = {("ConversationStateUpdateEvent", "key")}

FIELDS = {
    "ActionEvent": {
        "action": lambda full: TerminalAction(command="ls -la", timeout=30.0),
        "tool_call": lambda full: call("terminal", '{"command": "ls -la"}'),
    },
    "ObservationEvent": {
        "observation": lambda full: TerminalObservation.from_text("total 0\n", command="ls -la", exit_code=0),
    },
    "SystemPromptEvent": {
        "tools": lambda full: [terminal_tool(), mcp_tool(), finish_tool()] if full else [],
    },
    "ConversationStateUpdateEvent": {
        "key": lambda full: "stats",
        "value": lambda full: nested(),
    },
    "MessageEvent": {"source": lambda full: "user" if full else "agent"},
    "TerminalObservation": {
        # Without a command the reference cannot read back what it stored.
        "command": lambda full: "make test" if full else "",
    },
    "CriticResult": {"message": lambda full: "promising", "metadata": lambda full: nested()},
    "FileEditorAction": {"view_range": lambda full: [1, -1]},
    "PlanningFileEditorAction": {"view_range": lambda full: [1, -1]},
    "ReadFileObservation": {"lines_shown": lambda full: (1, 200)},
    "DelegateAction": {"tasks": lambda full: {"a": "first", "b": "second"}},
    "SecurityAnalysisEvent": {
        "risks": lambda full: {f"id-{r.value}": r for r in SecurityRisk} if full else {},
        "details": lambda full: {"id-HIGH": nested()},
    },
}


def messages():
    """Yield a message event for each role and kind of content."""
    yield "user", Message(role="user", content=[text("look"), ImageContent(image_urls=["data:image/png;base64,AAAA", "https://example.org/a.png"], cache_prompt=True)])
    yield "user", Message(role="system", content=[TextContent(text="rules", cache_prompt=True)])
    yield "agent", Message(role="assistant", content=[], tool_calls=[call("finish", origin="responses").model_copy(update={"responses_item_id": "fc_1"}), call("think", "{not json")])
    yield "agent", Message(role="assistant", content=[text("hm")], reasoning_content="because", thinking_blocks=[ThinkingBlock(thinking="", signature="sig"), ThinkingBlock(thinking="unsigned"), RedactedThinkingBlock(data="AAAA")])
    yield "environment", Message(role="tool", content=[text("done")], tool_call_id="call_1", name="terminal")
    yield "hook", Message(role="user", content=[text("")])


def actions():
    """Yield action events of different tools, and one whose action is null."""
    yield None, "terminal", '{"command": 1'
    yield MCPToolAction(data={"q": "x", "none": None, "nested": nested()}), "lookup", '{"q": "x"}'
    yield FinishAction(message="all done"), "finish", '{"message": "all done"}'
    yield TaskTrackerAction(command="plan", task_list=[{"title": "t", "status": "In Progress"}]), "task_tracker", "{}"
    yield FileEditorAction(command="create", path="/a", file_text=""), "file_editor", "{}"


def more(cls):
    """Return the extra samples of a kind."""
    if cls is MessageEvent:
        return [cls(source=source, llm_message=message) for source, message in messages()]
    if cls is ActionEvent:
        return [
            cls(thought=[text("so")], action=action, tool_name=tool, tool_call_id="call_1",
                tool_call=call(tool, arguments), llm_response_id="resp_1", security_risk=risk)
            for (action, tool, arguments), risk in zip(actions(), [*SecurityRisk, SecurityRisk.LOW])
        ]  # fmt: skip
    if cls is ObservationEvent:
        image = MCPToolObservation(tool_name="lookup", is_error=True, content=[text("[Tool 'lookup' executed.]"), ImageContent(image_urls=["data:image/png;base64,AAAA"])])
        return [cls(observation=image, action_id="a", tool_name="lookup", tool_call_id="call_1", extended_content=[text("note")])]
    if cls is ConversationStateUpdateEvent:
        return [cls(key=key, value=value) for key, value in STATE_UPDATES]
    if cls is AgentErrorEvent:
        return [
            cls(error="no such tool", tool_name="x", tool_call_id="call_1",
                classification={"kind": kind, "retryable": True, "user_action": "retry"})
            for kind in FailureKind
        ]  # fmt: skip
    return []


STATE_UPDATES = [
    ("execution_status", "running"),
    ("agent_state", {}),
    ("activated_knowledge_skills", []),
    ("last_user_message_id", ""),
    ("max_iterations", 500),
    ("goal", {"active": True, "status": "running", "iteration": 0, "max_iterations": 8, "objective": "win", "verdict": {"score": 0.5, "complete": False, "missing": ""}}),
]


def client_tool_events():
    """Return events that mention a tool whose action kind exists only in one process."""
    spec = ClientToolSpec(
        name="open_panel",
        description="Opens a panel.",
        parameters={"type": "object", "properties": {"panel": {"type": "string"}, "size": {"type": "number"}}, "required": ["panel"]},
    )
    (tool,) = ClientTool.create(spec=spec)
    action = tool.action_type(panel="<diff>", size=30.0)
    made = [
        SystemPromptEvent(system_prompt=text("be brief"), tools=[tool]),
        ActionEvent(thought=[], action=action, tool_name="open_panel", tool_call_id="call_1",
                    tool_call=call("open_panel", '{"panel": "<diff>"}'), llm_response_id="resp_1"),
    ]  # fmt: skip
    return [event.model_copy(update=event_base(number)) for number, event in enumerate(made)]
