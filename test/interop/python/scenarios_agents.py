"""Parts of agents: client tools, MCP servers, skills, hooks, worktrees,
child conversations."""

import sys
from pathlib import Path

from harness import (
    bash, call, contains, equal, eventually, finish, kinds, last_message, observations, say, scenario, status, text_of,
)
from scenarios_workspace import git

from openhands.sdk import AgentContext, Tool
from openhands.sdk.conversation import RemoteConversation
from openhands.sdk.hooks import HookConfig
from openhands.sdk.skills import KeywordTrigger, Skill
from openhands.sdk.tool.client_tool import ClientToolSpec

TINY = str(Path(__file__).parent / "tiny_mcp.py")


@scenario
def isolation(t):
    """In a sandbox, commands can see the workspace only."""
    (t.directory("beside") / "private").write_text("of the host")
    c = t.conversation(t.agent([bash("cat ../beside/private; echo mine > own; cat own"), say("ok")]))
    t.run(c, "look around")
    out = text_of(observations(c)[0])
    contains(out, "mine")
    equal("of the host" in out, t.plan.sandbox == "none")
    equal((t.directory() / "own").read_text(), "mine\n")


@scenario
def client_tools(t):
    spec = ClientToolSpec(
        name="show_panel", description="Show a panel to the user.",
        parameters={"type": "object", "properties": {"panel": {"type": "string"}}, "required": ["panel"]},
    )
    c = t.conversation(t.agent([call("show_panel", panel="files"), say("shown")]), client_tools=[spec])
    t.run(c, "show me the files")
    act = c.seen.wait_kind("ActionEvent")
    equal((act.tool_name, act.action.kind, act.action.panel), ("show_panel", "ClientAction_show_panel", "files"))
    equal(last_message(c), "shown")
    equal(len(observations(c, "show_panel")), 1)
    again = RemoteConversation.attach(t.workspace(), c.id, visualizer=None)
    t.kept.append(again)
    contains(kinds(again.state.events[:]), "ActionEvent")


def tiny(t):
    """A server, which starts in the conversation's sandbox: there the packages of
    these tests are not visible, and its file is only in the workspace."""
    file = t.directory() / "tiny_mcp.py"
    file.write_text(Path(TINY).read_text())
    return {"command": sys.executable if t.plan.sandbox == "none" else "python3", "args": ["-B", str(file)]}


@scenario
def mcp_server(t):
    servers = {"tiny": tiny(t) | {"env": {"GREETING": "moin"}}}
    turns = [call("add", a=2, b=40), call("tell"), say("ok")]  # one server: no prefix
    c = t.conversation(t.agent(turns, mcp_config=servers))
    t.run(c, "add")
    results = [e for e in c.state.events[:] if type(e).__name__ == "ObservationEvent"]
    if not results:
        raise AssertionError([(type(e).__name__, getattr(e, "error", "")) for e in c.state.events[:]])
    contains(text_of(results[0]), "42")
    contains(text_of(results[1]), "moin")
    equal(results[0].observation.kind, "MCPToolObservation")


@scenario
def a_broken_mcp_server(t):
    """It causes a warning and does not stop the agent."""
    servers = {"broken": {"command": "/nonexistent/program", "args": []}, "tiny": tiny(t)}
    c = t.conversation(t.agent([bash("echo still here"), say("ok")], mcp_config=servers))
    t.run(c, "work")
    contains(text_of(observations(c, "terminal")[0]), "still here")


@scenario(sandbox=False)
def mcp_test_route(t):
    server = {"transport": "stdio", "command": sys.executable, "args": ["-B", TINY]}
    r = t.rest("POST", "/api/mcp/test", json={"server": server, "name": "tiny", "timeout": 20}, status=200).json()
    equal(r["ok"], True)
    equal(sorted(r["tools"]), ["add", "tell"])


@scenario(sandbox=False)
def skills_by_keyword(t):
    skills = [
        Skill(name="greeting", content="GREETING RULE: say moin.", trigger=KeywordTrigger(keywords=["hamburg"])),
        Skill(name="style", content="STYLE RULE: be brief."),
    ]
    turns = [say("moin", match={"user": "GREETING RULE", "system": "STYLE RULE"}), say("hello")]
    c = t.conversation(t.agent(turns, agent_context=AgentContext(skills=skills)))
    t.run(c, "greetings from Hamburg")
    equal(last_message(c), "moin")
    sent = [e for e in c.state.events[:] if type(e).__name__ == "MessageEvent" and e.source == "user"][0]
    equal(sent.activated_skills, ["greeting"])
    contains(sent.extended_content[0].text, "GREETING RULE")
    equal(c.state.activated_knowledge_skills, ["greeting"])
    t.run(c, "something else")
    equal(last_message(c), "hello")


@scenario
def invokes_a_skill(t):
    skills = [Skill(name="deploy", description="How to deploy.", content="DEPLOY BY HAND", is_agentskills_format=True)]
    c = t.conversation(t.agent([call("invoke_skill", name="deploy"), say("I know how")], agent_context=AgentContext(skills=skills)))
    t.run(c, "deploy it")
    contains(text_of(observations(c, "invoke_skill")[0]), "DEPLOY BY HAND")
    eventually(lambda: t.info(c)["invoked_skills"] == ["deploy"], "it counts as invoked")
    equal(last_message(c), "I know how")


@scenario(sandbox=False)
def system_suffix(t):
    context = AgentContext(system_message_suffix="SUFFIX OF THE USER", user_message_suffix="END OF MESSAGE")
    turns = [say("both", match={"system": "SUFFIX OF THE USER", "user": "END OF MESSAGE"})]
    c = t.conversation(t.agent(turns, agent_context=context))
    t.run(c, "hello")
    equal(last_message(c), "both")


def command(text, **more):
    return {"hooks": [{"type": "command", "command": text}], **more}


@scenario
def hooks_run(t):
    """Each event runs its hooks: they add to messages, refuse calls, and keep the agent from stopping."""
    deny = "grep -q forbidden || exit 0; echo not allowed >&2; exit 2"
    again = "test -e seen && exit 0; touch seen; echo 'one more time' >&2; exit 2"
    hooks = HookConfig.from_dict({"hooks": {
        "SessionStart": [command("""echo '{"additionalContext": "IT IS MONDAY"}'""")],
        "UserPromptSubmit": [command("""echo '{"additionalContext": "BE BRIEF"}'""")],
        "PreToolUse": [command(deny, matcher="terminal")],
        "PostToolUse": [command("cat > last.json", matcher="/term.*/")],
        "Stop": [command(again)],
    }})
    turns = [bash("echo forbidden"), bash("echo fine"), say("done"), say("done again", match={"user": "[Stop hook feedback] one more time"})]
    c = t.conversation(t.agent(turns), hook_config=hooks)
    t.run(c, "work")
    equal(c.state.hook_config, hooks)
    equal(last_message(c), "done again")
    ran = [(e.hook_event_type, e.blocked) for e in c.state.events if type(e).__name__ == "HookExecutionEvent"]
    equal(ran, [("SessionStart", False), ("UserPromptSubmit", False), ("PreToolUse", True), ("PreToolUse", False), ("PostToolUse", False), ("Stop", True), ("Stop", False)])
    refused = [e for e in c.state.events if type(e).__name__ == "UserRejectObservation"]
    equal([(e.rejection_source, e.rejection_reason) for e in refused], [("hook", "not allowed")])
    contains(text_of(observations(c)[0]), "fine")
    sent = [e for e in c.state.events if type(e).__name__ == "MessageEvent"]
    contains(sent[0].llm_message.content[0].text, "IT IS MONDAY")
    contains(sent[1].extended_content[0].text, "BE BRIEF")


@scenario(sandbox=False)
def hook_refuses_a_message(t):
    """The model is not called for a message that a hook has blocked."""
    hooks = HookConfig.from_dict({"UserPromptSubmit": [command("grep -q secret || exit 0; echo no secrets >&2; exit 2")]})
    c = t.conversation(t.agent([say("hello", match={"user": "fine"})]), hook_config=hooks)
    t.run(c, "the secret is 7")
    equal(last_message(c), "")
    t.run(c, "this is fine")
    equal(last_message(c), "hello")


def repository(t):
    d = t.directory("repository")
    git(d, "init")
    (d / "README").write_text("hi\n")
    git(d, "add", ".")
    git(d, "commit", "-m", "first")
    return d


@scenario
def worktree(t):
    d = repository(t)
    agent = t.agent([bash("cat README; pwd; echo new > added"), finish()])
    body = {
        "agent": agent.model_dump(mode="json", context={"expose_secrets": True}), "workspace": {"working_dir": str(d)},
        "worktree": True,
    }
    info = t.rest("POST", "/api/conversations", json=body, status=201).json()
    worktree = info["workspace"]["working_dir"]
    assert worktree != str(d), "it works in the repository itself"
    ws = t.workspace(d)
    c = RemoteConversation.attach(ws, info["id"], visualizer=None)
    t.kept.append(c)
    t.run(c, "work")
    contains(text_of(observations(c)[0]), "hi")
    contains(text_of(observations(c)[0]), worktree)
    assert not (d / "added").exists()
    t.rest("DELETE", f"/api/conversations/{c.id}", status=200)
    assert not Path(worktree).exists(), "the working tree is still there"


@scenario
def children(t):
    d = repository(t)
    agent = t.agent([say("child works", match={"user": "the task of the child"}), say("parent")], script={"lenient": True})
    c = t.conversation(agent, t.workspace(d))
    r = t.rest("POST", f"/api/conversations/{c.id}/children", json={"task": "the task of the child", "title": "Child"}, status=201).json()
    equal(r["parent_conversation_id"], str(c.id))
    equal(r["isolation"], "worktree")
    child = RemoteConversation.attach(t.workspace(d), r["conversation_id"], visualizer=None)
    t.kept.append(child)
    eventually(lambda: t.info(child)["execution_status"] not in ("idle", "running") or last_message(child), "the child ends")
    child.state.events.reconcile()
    equal(last_message(child), "child works")
    equal(t.info(child)["title"], "Child")
    assert t.info(child)["parent_conversation_id"] == str(c.id) or t.plan.reference
    r = t.rest("POST", f"/api/conversations/{c.id}/children", json={"task": "the task of the child", "isolation": "shared"}, status=201).json()
    equal(r["workspace"], str(d))


@scenario
def initial_message(t):
    agent = t.agent([bash("echo first"), say("started by itself")])
    body = {
        "agent": agent.model_dump(mode="json", context={"expose_secrets": True}),
        "workspace": {"working_dir": str(t.directory())},
        "initial_message": {"role": "user", "content": [{"type": "text", "text": "begin"}], "run": True},
        "secrets": {"IN_CREATE": {"kind": "StaticSecret", "value": "value-in-create"}}, "autotitle": False,
    }
    info = t.rest("POST", "/api/conversations", json=body, status=201).json()
    assert "value-in-create" not in str(info)
    c = RemoteConversation.attach(t.workspace(), info["id"], visualizer=None)
    t.kept.append(c)
    eventually(lambda: t.info(c)["execution_status"] not in ("idle", "running"), "it runs by itself")
    c.state.events.reconcile()
    equal(last_message(c), "started by itself")


@scenario
def agent_by_settings(t):
    llm = t.model([bash("echo by settings"), finish("By settings.")])
    body = {
        "agent_settings": {
            "agent_kind": "openhands", "llm": llm.model_dump(mode="json", exclude_none=True, context={"expose_secrets": True}),
            "tools": [{"name": "terminal"}],
        },
        "workspace": {"working_dir": str(t.directory())},
    }
    info = t.rest("POST", "/api/conversations", json=body, status=201).json()
    c = RemoteConversation.attach(t.workspace(), info["id"], visualizer=None)
    t.kept.append(c)
    t.run(c, "go")
    equal(status(c), "finished")
    contains(text_of(observations(c, "terminal")[0]), "by settings")


@scenario
def gives_a_task(t):
    """A sub-agent works in the same directory with a history of its own, and can go on."""
    whole = {"user": "count the files"}
    turns = [
        call("task", prompt="List what is here", description="list files", turn={"match": whole}),
        bash("mark=child; echo found > list; ls", turn={"match": {"user": "List what is here"}}), finish("There is one file."),
        bash("echo mark: $mark.", turn={"match": whole}), say("One file."),
    ]
    agent = t.agent(turns)
    agent = agent.model_copy(update={"tools": [*agent.tools, Tool(name="task_tool_set")]})
    c = t.conversation(agent)
    t.run(c, "count the files")
    equal(last_message(c), "One file.")
    act = [e for e in c.state.events[:] if type(e).__name__ == "ActionEvent" and e.tool_name == "task"][0]
    equal((act.action.kind, act.action.subagent_type, act.action.prompt), ("TaskAction", "general-purpose", "List what is here"))
    contains(text_of(observations(c, "terminal")[0]), "mark: .")  # it had a shell of its own
    got = observations(c, "task")[0].observation
    equal((type(got).__name__, got.status, got.subagent, got.is_error), ("TaskObservation", "completed", "general-purpose", False))
    equal(got.text, "There is one file.")
    equal((t.directory() / "list").read_text(), "found\n")
    if t.plan.reference:
        return
    equal(got.task_id, act.id)  # ours: it is the conversation of the sub-agent
    child = t.rest("GET", f"/api/conversations/{got.task_id}", status=200).json()
    equal((child["parent_conversation_id"], child["title"], child["execution_status"]), (str(c.id), "list files", "finished"))
    equal([x.replace("-", "") for x in t.info(c)["sub_conversation_ids"]], [got.task_id.replace("-", "")])
