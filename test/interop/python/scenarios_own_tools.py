"""Tools that only Deft has. The client reads their events as those of an MCP server's tools."""

import os
from pathlib import Path

from openhands.sdk.context import AgentContext
from openhands.sdk.conversation import RemoteConversation

from harness import call, calls, contains, equal, finish, scenario, status, text_of

KERNEL = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "deft-deps" / "jupyter"  # test/deps/jupyter.sh


def of_tool(events, kind, tool):
    return [e for e in events if type(e).__name__ == kind and e.tool_name == tool]


@scenario(reference=False, sandbox=False)  # the kernel is outside of sandboxes
def reads_events_of_tools_that_only_deft_has(t):
    t.start_server(PATH=f"{KERNEL}/bin:{os.environ['PATH']}")
    turns = [
        call("ipython", code="6 * 7"),
        call("ipython", code="1 / 0", timeout=30),
        calls(("remember", {"scope": "project", "text": "The answer is 42."})),
        finish(),
    ]
    agent = t.agent(turns, tools=("ipython",), agent_context=AgentContext(load_memory=True))
    c = t.conversation(agent)
    t.run(c, "count")
    equal(status(c), "waiting_for_confirmation")  # a note waits for the user's yes
    t.run(c)
    equal(status(c), "finished")

    again = RemoteConversation(agent=agent, workspace=t.workspace(), conversation_id=c.id, visualizer=None, delete_on_close=False)
    t.kept.append(again)
    stored = t.log(c)
    for name, events in (("seen", c.seen.events), ("stored", again.state.events[:])):
        ids = {e.id for e in events}
        equal([e["id"] for e in stored if e["id"] not in ids], [], f"{name}: events that were not read")
        prompt = next(e for e in events if type(e).__name__ == "SystemPromptEvent")
        names = {tool.name for tool in prompt.tools}
        assert {"ipython", "remember", "finish"} <= names, names
        contains(str(prompt.visualize), "ipython")
        actions = of_tool(events, "ActionEvent", "ipython")
        equal([a.action.data for a in actions], [{"code": "6 * 7"}, {"code": "1 / 0", "timeout": 30}], name)
        results = of_tool(events, "ObservationEvent", "ipython")
        equal([r.observation.tool_name for r in results], ["ipython", "ipython"])
        contains(text_of(results[0]), "42")
        contains(text_of(results[1]), "ZeroDivisionError")
        equal([r.observation.is_error for r in results], [False, True])
        equal([a.action.data for a in of_tool(events, "ActionEvent", "remember")], [{"scope": "project", "text": "The answer is 42."}])
        contains(text_of(of_tool(events, "ObservationEvent", "remember")[0]), "Kept")
        for e in events:
            assert str(e) and e.visualize is not None

    action = next(e for e in stored if e["kind"] == "ActionEvent")
    for query, kind in (("", "MCPToolAction"), ("?own_kinds=true", "IPythonAction")):
        one = t.rest("GET", f"/api/conversations/{c.id}/events/{action['id']}{query}", status=200).json()
        equal(one["action"]["kind"], kind)
    t.rest("GET", f"/api/conversations/{c.id}/events/{action['id']}?own_kinds=perhaps", status=422)
