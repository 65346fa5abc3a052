"""The cases of openhands-sdk's own live tests for hooks and sub-agents, which no package has: the
clients that they make, and the results that they want. Where they ask the server's process,
these ask the model."""

import json

import httpx
from harness import bash, call, contains, equal, finish, lacks, observations, raises, say, scenario

from openhands.sdk import AgentContext, Tool
from openhands.sdk.hooks import HookConfig, HookDefinition, HookMatcher
from openhands.sdk.marketplace import MarketplaceRegistration
from openhands.sdk.subagent import AgentDefinition
from openhands.sdk.subagent.registry import register_agent, register_agent_if_absent


def allows(t, name):
    """A script that allows everything, as JSON. It is in the workspace, so sandboxes have it."""
    file = t.directory() / name
    file.write_text("#!/bin/bash\necho '{\"decision\": \"allow\"}'\nexit 0\n")
    file.chmod(0o755)
    return str(file)


@scenario
def hooks_of_the_client(t):
    """Hooks run after the call that ends the work, and at the end."""
    after, end = allows(t, "post_tool_hook.sh"), allows(t, "stop_hook.sh")
    hooks = HookConfig(
        post_tool_use=[HookMatcher(matcher="*", hooks=[HookDefinition(command=after, timeout=600)])],
        stop=[HookMatcher(matcher="*", hooks=[HookDefinition(command=end, timeout=600)])],
    )
    c = t.conversation(t.agent([finish("Task complete"), say("Done")], tools=()), hook_config=hooks)
    t.run(c, "Complete the task")
    ran = [e for e in c.state.events if type(e).__name__ == "HookExecutionEvent"]
    equal([(e.hook_event_type, e.success, e.blocked, e.exit_code) for e in ran], [("PostToolUse", True, False, 0), ("Stop", True, False, 0)])
    contains(ran[0].hook_command, after)
    contains(ran[1].hook_command, end)


@scenario
def agents_of_the_client(t):
    """Agents that the client registers go to the server with the conversation; its model is offered
    them, and one that gets a task has the prompt of its definition."""
    register_agent_if_absent(name="live_bash", factory_func=lambda llm: None, description=AgentDefinition(
        name="live_bash", description="Command execution specialist", tools=["terminal"], system_prompt="You are a bash specialist.",
    ))
    register_agent(name="live_reviewer", factory_func=lambda llm: None, description=AgentDefinition(
        name="live_reviewer", description="Code review specialist", tools=["terminal"], system_prompt="You review code for correctness.",
    ))
    turns = [
        call("task", prompt="Review it", description="a review", subagent_type="live_reviewer", turn={"match": {"user": "have it reviewed"}}),
        {**finish("It is correct."), "match": {"user": "Review it", "system": "You review code for correctness."}},
        say("Reviewed."),
    ]
    agent = t.agent(turns)
    agent = agent.model_copy(update={"tools": [*agent.tools, Tool(name="task_tool_set")]})
    c = t.conversation(agent)
    t.run(c, "have it reviewed")
    got = observations(c, "task")[0].observation
    equal((got.status, got.subagent, got.text), ("completed", "live_reviewer", "It is correct."))
    offered = next(tool.description for e in c.state.events if type(e).__name__ == "SystemPromptEvent" for tool in e.tools if tool.name == "task")
    for part in ("live_bash", "Command execution specialist", "live_reviewer", "Code review specialist"):
        contains(offered, part)


@scenario
def plugins_of_the_client(t):
    """A marketplace of the agent's context gives the conversation a plugin and a skill; the client loads
    another plugin, whose command, hook and agent work from then on."""
    market = t.directory("market")
    tree(market, {
        ".plugin/marketplace.json": json.dumps({
            "name": "shop", "owner": {"name": "o"},
            "plugins": [{"name": "first", "source": "./first"}, {"name": "second", "source": "./second"}],
            "skills": [{"name": "alone", "source": "./alone"}],
        }),
        "first/.plugin/plugin.json": '{"name": "first"}',
        "first/skills/greeting/SKILL.md": "---\nname: greeting\ndescription: says how to greet\ntriggers: [hello]\n---\nAnswer with GREETING-OF-FIRST.",
        "alone/SKILL.md": "---\nname: alone\ndescription: stands alone\ntriggers: [lonely]\n---\nTHE-LONELY-SKILL",
        "second/.plugin/plugin.json": '{"name": "second"}',
        "second/commands/deploy.md": "DEPLOY-AS-SECOND-SAYS",
        "second/hooks/hooks.json": json.dumps({"hooks": {"Stop": [{"hooks": [{"command": "echo stopped"}]}]}}),
        "second/agents/second_agent.md": "---\nname: second_agent\ndescription: of the plugin\n---\nYou come from a plugin.",
    })
    turns = [
        say("Greeted."), say("Deployed."),
        call("task", prompt="Do it", description="a task", subagent_type="second_agent", turn={"match": {"user": "give it away"}}),
        {**finish("It is done."), "match": {"user": "Do it", "system": "You come from a plugin."}},
        say("Given."),
    ]
    context = AgentContext(registered_marketplaces=[MarketplaceRegistration(name="shop", source=str(market), auto_load=["first", "alone"])])
    agent = t.agent(turns, agent_context=context)
    agent = agent.model_copy(update={"tools": [*agent.tools, Tool(name="task_tool_set")]})
    c = t.conversation(agent)

    def told():
        return [text.text for e in c.state.events if type(e).__name__ == "MessageEvent" and e.source == "user" for text in e.extended_content]

    t.run(c, "hello, lonely one: /second:deploy")
    contains("".join(told()), "GREETING-OF-FIRST")
    contains("".join(told()), "THE-LONELY-SKILL")
    lacks("".join(told()), "DEPLOY-AS-SECOND-SAYS")
    with raises(httpx.HTTPStatusError, "404"):
        c.load_plugin("none@shop")
    c.load_plugin("second@shop")
    t.run(c, "/second:deploy")
    contains(told()[-1], "DEPLOY-AS-SECOND-SAYS")
    equal([e.hook_event_type for e in c.state.events if type(e).__name__ == "HookExecutionEvent"], ["Stop"])
    t.run(c, "give it away")
    got = observations(c, "task")[0].observation
    equal((got.status, got.subagent, got.text), ("completed", "second_agent", "It is done."))


@scenario(reference=False)
def plugins_of_the_project(t):
    """Hooks of a project's plugin run once the owner has allowed them; the reference asks nobody."""
    tree(t.directory(), {
        ".agents/plugins/rules/hooks/hooks.json": json.dumps({"hooks": {"PreToolUse": [{"matcher": "terminal", "hooks": [{"command": "sh ${CLAUDE_PLUGIN_ROOT}/no.sh"}]}]}}),
        ".agents/plugins/rules/no.sh": "echo nothing is pushed >&2; exit 2\n",
    })
    agent = t.agent([bash("echo pushed"), say("Pushed."), bash("echo pushed"), say("Stopped.")], agent_context=AgentContext(load_project_skills=True))
    c = t.conversation(agent)
    t.run(c, "push")
    path = f"/api/conversations/{c.id}/hooks"
    part = t.rest("GET", path, status=200).json()["parts"][0]
    equal((part["file"], part["answer"]), (".agents/plugins/rules", ""))
    contains(part["runs"][0], "${CLAUDE_PLUGIN_ROOT}/no.sh")
    t.rest("POST", path, status=409, json={"file": part["file"], "sha256": "another", "allow": True})
    t.rest("POST", path, status=200, json={"file": part["file"], "sha256": part["sha256"], "allow": True})
    t.run(c, "push again")
    ran = [e for e in c.state.events if type(e).__name__ == "HookExecutionEvent"]
    equal([(e.hook_event_type, e.blocked, e.stderr.strip()) for e in ran], [("PreToolUse", True, "nothing is pushed")])


def tree(root, files):
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
