"""Write what package formerevent is tested with: events of today, and what they were.

Usage: python -B test/events/former.py

The events of today are the golden files of event/testdata. What they were is built here
with the classes of openhands-sdk 1.0.0a6, the version that OpenHands 0.62.0 pins; those
refuse fields that they do not know; what is sent has the fields of today, too. See README.md for how that version is installed.
"""

import copy
import json
import pathlib
import sys
import warnings

warnings.simplefilter("ignore")

from openhands.sdk.event import (  # noqa: E402
    ActionEvent,
    AgentErrorEvent,
    Condensation,
    CondensationRequest,
    ConversationStateUpdateEvent,
    MessageEvent,
    ObservationEvent,
    PauseEvent,
    SystemPromptEvent,
    UserRejectObservation,
)
from openhands.sdk.llm import TextContent  # noqa: E402
from openhands.sdk.mcp.definition import MCPToolAction, MCPToolObservation  # noqa: E402
from openhands.sdk.tool.builtins.finish import FinishAction, FinishObservation  # noqa: E402
from openhands.sdk.tool.builtins.think import ThinkAction, ThinkObservation  # noqa: E402
from openhands.tools.browser_use.definition import BrowserNavigateAction, BrowserObservation  # noqa: E402
from openhands.tools.delegate.definition import DelegateAction, DelegateObservation  # noqa: E402
from openhands.tools.execute_bash.definition import ExecuteBashAction, ExecuteBashObservation  # noqa: E402
from openhands.tools.file_editor.definition import FileEditorAction, FileEditorObservation  # noqa: E402
from openhands.tools.glob.definition import GlobAction, GlobObservation  # noqa: E402
from openhands.tools.grep.definition import GrepAction, GrepObservation  # noqa: E402
from openhands.tools.planning_file_editor.definition import (  # noqa: E402
    PlanningFileEditorAction,
    PlanningFileEditorObservation,
)
from openhands.tools.task_tracker.definition import TaskTrackerAction, TaskTrackerObservation  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "event" / "testdata" / "golden"
TARGET = ROOT / "internal" / "appserver" / "formerevent" / "testdata" / "events.jsonl"
TEXT = {"type": "text", "text": "what was said", "cache_prompt": False}


def golden(kind):
    return json.loads((GOLDEN / f"{kind}.json").read_text())


def said(o):
    return "\n".join(b["text"] for b in o.get("content", []) if b["type"] == "text")


def known(o, *names):
    """The named fields that an object has."""
    return {n: o[n] for n in names if n in o}


def base(e, source=None):
    if source is None:
        source = e["source"] if e["source"] != "hook" else "environment"
    return {"id": e["id"], "timestamp": e["timestamp"], "source": source}


def thoughts(o):
    """Blocks of reasoning had a signature always."""
    for b in o.get("thinking_blocks", []):
        if b["type"] == "thinking":
            b.setdefault("signature", "")
    return o


def error_or(name, o):
    """1.0.0a6 told an error instead of a result."""
    if o["is_error"]:
        return {"error": said(o)} | ({name: ""} if name else {})
    return {name: said(o)} if name else {}


EDIT = ("command", "path", "file_text", "old_str", "new_str", "insert_line", "view_range")
EDITED = ("command", "path", "prev_exist", "old_content", "new_content")

ACTIONS = {
    "TerminalAction": lambda a: ExecuteBashAction(**known(a, "command", "is_input", "timeout", "reset")),
    "FileEditorAction": lambda a: FileEditorAction(**known(a, *EDIT)),
    "PlanningFileEditorAction": lambda a: PlanningFileEditorAction(**known(a, *EDIT)),
    "TaskTrackerAction": lambda a: TaskTrackerAction(**known(a, "command", "task_list")),
    "ThinkAction": lambda a: ThinkAction(thought=a["thought"]),
    "FinishAction": lambda a: FinishAction(message=a["message"]),
    "GlobAction": lambda a: GlobAction(**known(a, "pattern", "path")),
    "GrepAction": lambda a: GrepAction(**known(a, "pattern", "path", "include")),
    "MCPToolAction": lambda a: MCPToolAction(data=a["data"]),
    "DelegateAction": lambda a: DelegateAction(**known(a, "command", "ids", "tasks")),
    "BrowserNavigateAction": lambda a: BrowserNavigateAction(**known(a, "url", "new_tab")),
}

OBSERVATIONS = {
    "TerminalObservation": lambda o: ExecuteBashObservation(
        output=said(o), error=o["is_error"], **known(o, "command", "exit_code", "timeout", "metadata")
    ),
    "FileEditorObservation": lambda o: FileEditorObservation(**error_or("output", o), **known(o, *EDITED)),
    "PlanningFileEditorObservation": lambda o: PlanningFileEditorObservation(**error_or("output", o), **known(o, *EDITED)),
    "BrowserObservation": lambda o: BrowserObservation(**error_or("output", o), **known(o, "screenshot_data")),
    "GlobObservation": lambda o: GlobObservation(**error_or("", o), **known(o, "files", "pattern", "search_path", "truncated")),
    "GrepObservation": lambda o: GrepObservation(
        **error_or("", o), **known(o, "matches", "pattern", "search_path", "include_pattern", "truncated")
    ),
    "TaskTrackerObservation": lambda o: TaskTrackerObservation(content=said(o), **known(o, "command", "task_list")),
    "ThinkObservation": lambda o: ThinkObservation(content=said(o)),
    "FinishObservation": lambda o: FinishObservation(message=said(o)),
    "DelegateObservation": lambda o: DelegateObservation(message=said(o), command=o["command"]),
    "MCPToolObservation": lambda o: MCPToolObservation(**known(o, "content", "is_error", "tool_name")),
}


def action_event(e):
    a = e.get("action")
    return ActionEvent(
        **base(e, "agent" if e["source"] == "agent" else None),
        **({"action": ACTIONS[a["kind"]](a)} if a else {}),
        **known(
            thoughts(e), "thought", "reasoning_content", "thinking_blocks", "responses_reasoning_item",
            "tool_name", "tool_call_id", "tool_call", "llm_response_id", "security_risk",
        ),
    )


def observation_event(e):
    o = e["observation"]
    source = "agent" if o["kind"] == "FinishObservation" else None  # or the page hides the last message
    return ObservationEvent(**base(e, source), observation=OBSERVATIONS[o["kind"]](o), **known(e, "tool_name", "tool_call_id", "action_id"))


def message_event(e):
    m = known(
        thoughts(e["llm_message"]), "role", "content", "tool_calls", "tool_call_id", "name",
        "reasoning_content", "thinking_blocks", "responses_reasoning_item",
    )
    return MessageEvent(**base(e), llm_message=m, **known(e, "llm_response_id", "activated_skills", "extended_content"))


def function(tool):
    """A tool as OpenAI's API has it."""
    mcp = tool.get("mcp_tool") or {}
    return {
        "type": "function",
        "function": {
            "name": tool.get("client_tool_name") or mcp.get("name") or tool["title"],
            "description": tool["description"],
            "parameters": tool.get("input_schema") or mcp.get("inputSchema") or {"type": "object"},
        },
    }


def system_prompt_event(e):
    text = e["system_prompt"]["text"]
    if (e.get("dynamic_context") or {}).get("text"):
        text += "\n\n" + e["dynamic_context"]["text"]
    return SystemPromptEvent(
        **base(e), system_prompt=TextContent(type="text", text=text, cache_prompt=False), tools=[function(t) for t in e["tools"]]
    )


EVENTS = {
    "ActionEvent": action_event,
    "ObservationEvent": observation_event,
    "MessageEvent": message_event,
    "SystemPromptEvent": system_prompt_event,
    "AgentErrorEvent": lambda e: AgentErrorEvent(**base(e), **known(e, "tool_name", "tool_call_id", "error")),
    "UserRejectObservation": lambda e: UserRejectObservation(
        **base(e), **known(e, "tool_name", "tool_call_id", "action_id", "rejection_reason")
    ),
    "Condensation": lambda e: Condensation(
        **base(e), **known(e, "forgotten_event_ids", "summary", "summary_offset", "llm_response_id")
    ),
    "CondensationRequest": lambda e: CondensationRequest(**base(e)),
    "PauseEvent": lambda e: PauseEvent(**base(e)),
    "InterruptEvent": lambda e: PauseEvent(**base(e)),
    "ConversationErrorEvent": lambda e: AgentErrorEvent(
        **base(e, "agent"), tool_name="", tool_call_id="", error=e["detail"]
    ),
    "ConversationStateUpdateEvent": lambda e: ConversationStateUpdateEvent(**base(e), **known(e, "key", "value")),
}


def now():
    """Today's events: the samples of each kind, and one event for each sample of an action or observation."""
    for kind in EVENTS:
        yield from golden(kind)
    for kinds, name, carrier in ((ACTIONS, "action", "ActionEvent"), (OBSERVATIONS, "observation", "ObservationEvent")):
        event = golden(carrier)[0]
        for kind in kinds:
            for sample in golden(kind):
                yield event | {name: sample}
                if name == "observation":
                    yield event | {name: sample | {"content": [TEXT, TEXT], "is_error": False}}
                    yield event | {name: sample | {"content": [TEXT], "is_error": True}}


def main():
    out = []
    for e in now():
        was = EVENTS[e["kind"]](copy.deepcopy(e))
        former = was.model_dump(mode="json", exclude_unset=True, exclude_none=True)
        out.append({"now": e, "former": stamped(former, was)})
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text("".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in out))
    print(f"{len(out)} events")


def stamped(dump, model):
    """Add the kinds, which nobody sets."""
    dump["kind"] = model.kind
    for name in ("action", "observation"):
        if dump.get(name) is not None:
            dump[name]["kind"] = getattr(model, name).kind
    return dump


if __name__ == "__main__":
    sys.exit(main())
