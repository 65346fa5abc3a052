"""Secrets, statistics, forks, navigation, condensing, questions, goals and
titles."""

from harness import (
    lacks, bash, call, contains, equal, eventually, finish, kinds, last_message, lasting, observations, raises, say, scenario,
    status, text_of,
)

import httpx
from openhands.sdk.conversation import RemoteConversation
from openhands.sdk.context.condenser import LLMSummarizingCondenser
from openhands.sdk.secret import StaticSecret

VALUE = "s3cret-value-0123456789"


@scenario
def secrets_are_given_and_masked(t):
    turns = [
        bash("echo secrets: $(env | grep -c MY_TOKE[N])"), bash("echo got:$MY_TOKEN; test \"$MY_TOKEN\" = " + VALUE[:3] + "'" + VALUE[3:] + "' && echo right"),
        bash("echo part; echo $LATE_TOKEN | tr a-z A-Z"), say("the value is " + VALUE),
    ]
    c = t.conversation(t.agent(turns, stream=True), secrets={"MY_TOKEN": VALUE, "OTHER": "another-value"})
    c.update_secrets({"LATE_TOKEN": StaticSecret(value="late-value-987"), "MADE": lambda: "made-value-555"})
    t.run(c, "use the token")
    before, first, third = map(text_of, observations(c))
    equal(before.strip().splitlines()[0], "secrets: 0")  # a command that does not name it
    contains(first, "got:<secret-hidden>")
    contains(first, "right")
    contains(third, "LATE-VALUE-987")
    lacks(last_message(c), VALUE)
    for text in (str(t.log(c)), str(t.info(c)), str([e.model_dump(mode="json") for e in c.seen.events])):
        if not t.plan.reference:  # the reference masks commands' output only, not the model's text
            lacks(text, VALUE)
        lacks(text, "late-value-987")
    names = set(c.state.secret_registry.secret_sources)
    equal(names, {"MY_TOKEN", "OTHER", "LATE_TOKEN", "MADE"})


@scenario(sandbox=False)
def secrets_in_streams_are_masked(t):
    got = []
    c = t.conversation(
        t.agent([bash("echo $MY_TOKEN"), say("it is " + VALUE + ", I think", chunk_size=4)], stream=True),
        secrets={"MY_TOKEN": VALUE}, token_callbacks=[lambda chunk: got.append(chunk.choices[0].delta.content or "")],
    )
    t.run(c, "say it")
    if t.plan.reference:
        t.note("streamed: " + "".join(got))
        return
    lacks("".join(got), VALUE)
    contains("".join(got), "I think")


@scenario
def secrets_of_the_settings(t):
    """Commands get stored secrets by reference; the values never pass through the
    client."""
    ws = t.workspace()
    t.rest("PUT", "/api/settings/secrets", json={"name": "KEPT", "value": VALUE, "description": "kept"}, status=200)
    found = ws.get_secrets(["KEPT"])
    equal(list(found), ["KEPT"])
    equal(found["KEPT"].description, "kept")
    equal(found["KEPT"].get_value(), VALUE)
    c = t.conversation(t.agent([bash("test ${#KEPT} = %d && echo whole $KEPT" % len(VALUE)), say("ok")]), ws)
    c.update_secrets(found)
    t.run(c, "use it")
    contains(text_of(observations(c)[0]), "whole <secret-hidden>")
    t.rest("DELETE", "/api/settings/secrets/KEPT", status=200)


@scenario(sandbox=False)
def counts_tokens(t):
    turns = [
        {"reply": {"tool_calls": [{"name": "terminal", "arguments": {"command": "true"}}], "usage": {"input": 100, "output": 10}}},
        {"reply": {"text": "done", "usage": {"input": 200, "output": 20, "cached": 50}}},
    ]
    c = t.conversation(t.agent(turns))
    c.set_title("no tokens for a title")
    t.run(c, "hello")
    c.state.refresh_from_server()
    usage = c.state.stats.usage_to_metrics["agent"].accumulated_token_usage
    equal((usage.prompt_tokens, usage.completion_tokens, usage.cache_read_tokens), (300, 30, 50))
    combined = c.conversation_stats.get_combined_metrics()
    equal(combined.accumulated_token_usage.prompt_tokens, 300)


@scenario(reference=False)  # 1.58.0 loses the key of the model in a fork
def forks(t):
    c = t.conversation(t.agent([say("one"), say("two"), say("three")]), tags={"kind": "source"})
    t.run(c, "first")
    f = c.fork(title="the fork", tags={"kind": "fork"})
    t.kept.append(f)
    assert f.id != c.id
    t.run(f, "to the fork")
    equal(last_message(f), "two")
    t.run(c, "to the source")
    equal(last_message(c), "three")
    info = t.info(f)
    equal(info["title"], "the fork")
    equal(info["tags"]["kind"], "fork")
    equal(info["forked_from_conversation_id"], str(c.id))
    texts = [p.text for e in f.state.events[:] if type(e).__name__ == "MessageEvent" for p in e.llm_message.content]
    equal(texts, ["first", "one", "to the fork", "two"])
    with raises(httpx.HTTPStatusError, "404"):
        c.fork(from_event_id="00000000-0000-4000-8000-000000000000")


@scenario(reference=False, sandbox=False)
def forks_from_an_event(t):
    c = t.conversation(t.agent([say("one"), say("two"), say("other two")]))
    t.run(c, "first")
    at = [e for e in c.state.events[:] if type(e).__name__ == "MessageEvent"][-1]
    t.run(c, "second")
    f = c.fork(from_event_id=at.id)
    t.kept.append(f)
    t.run(f, "second, differently")
    texts = [p.text for e in f.state.events[:] if type(e).__name__ == "MessageEvent" for p in e.llm_message.content]
    equal(texts, ["first", "one", "second, differently", "other two"])


@scenario(sandbox=False)
def navigates(t):
    turns = [say("one"), say("two"), say("saw {{.LastUser}}", match={"assistant_turns": 1})]
    c = t.conversation(t.agent(turns))
    t.run(c, "first")
    at = [e for e in c.state.events[:] if type(e).__name__ == "MessageEvent"][-1]
    t.run(c, "second")
    c.navigate_to(at.id)
    equal(t.info(c)["leaf_event_id"], at.id)
    t.run(c, "another way")
    equal(last_message(c), "saw another way")
    assert len([e for e in t.log(c) if e["kind"] == "MessageEvent"]) == 6, "navigating deleted events"
    with raises(httpx.HTTPStatusError, "404"):
        c.navigate_to("00000000-0000-4000-8000-000000000000")


@scenario(sandbox=False)
def condenses(t):
    url = t.llm([*(bash(f"echo step {i}") for i in range(6)), say("worked"), say("SUMMARY OF IT ALL"), say("after it")]).url
    condenser = LLMSummarizingCondenser(llm=t.model_of(url, usage="condenser"), max_size=100, keep_first=2)
    c = t.conversation(t.agent(t.model_of(url), condenser=condenser))
    t.run(c, "work")
    c.condense()
    done = c.seen.wait_kind("Condensation")
    contains(done.summary, "SUMMARY OF IT ALL")
    assert done.forgotten_event_ids, "no event was forgotten"
    t.run(c, "go on")
    equal(last_message(c), "after it")


@scenario
def condenses_by_itself(t):
    url = t.llm([bash(f"echo step {i}") for i in range(30)], default=finish("Finished after condensing.")).url
    summaries = t.llm([say("SUMMARY", repeat="forever")]).url
    condenser = LLMSummarizingCondenser(llm=t.model_of(summaries, usage="condenser"), max_size=20, keep_first=2)
    c = t.conversation(t.agent(t.model_of(url), condenser=condenser))
    t.run(c, "work long")
    equal(status(c), "finished")
    assert len([k for k in kinds(c.state.events[:]) if k == "Condensation"]) >= 2
    equal(len(observations(c, "terminal")), 30)
    stored = [e["id"] for e in t.log(c)]
    assert len(stored) > 100, "more than a page of events"
    again = RemoteConversation.attach(t.workspace(), c.id, visualizer=None)
    t.kept.append(again)
    equal([e.id for e in lasting(again.state.events[:])], stored)


@scenario(sandbox=False)
def refuses_to_condense_without_a_condenser(t):
    c = t.conversation(t.agent([say("hi")]))
    t.run(c, "hello")
    with raises(httpx.HTTPStatusError, "409"):
        c.condense()


@scenario(sandbox=False)
def asks_the_agent(t):
    c = t.conversation(t.agent([say("working"), say("It is about tests."), say("next")]))
    t.run(c, "hello")
    before = len(t.log(c))
    equal(c.ask_agent("What is this about?"), "It is about tests.")
    after = [e for e in t.log(c)[before:] if e["kind"] != "ConversationStateUpdateEvent"]
    equal(after, [])
    t.run(c, "go on")
    equal(last_message(c), "next")


@scenario
def pursues_a_goal(t):
    verdicts = [
        '{"score": 0.3, "complete": false, "missing": "the second file"}', '{"score": 1.0, "complete": true, "missing": ""}',
    ]
    turns = [
        bash("touch one"), finish("first round"), say(verdicts[0]), bash("touch two"), finish("second round"), say(verdicts[1]),
    ]
    c = t.conversation(t.agent(turns))
    t.rest("POST", f"/api/conversations/{c.id}/goal", json={"objective": "make two files", "max_iterations": 5}, status=200)
    def over(e):
        return getattr(e, "key", "") == "goal" and isinstance(e.value, dict) and e.value["status"] == "complete"
    end = c.seen.wait(over, "the goal is complete")
    equal(end.value["active"], False)
    equal(end.value["objective"], "make two files")
    t.note(f"goal: {end.value}")
    assert (t.directory() / "one").exists() and (t.directory() / "two").exists()


@scenario(reference=False)  # 1.58.0 stops the rounds, not the run
def stops_and_resumes_a_goal(t):
    turns = [bash("touch begun; sleep 600"), finish("done"), say('{"score": 1.0, "complete": true, "missing": ""}')]
    c = t.conversation(t.agent(turns))
    path = f"/api/conversations/{c.id}/goal"
    t.rest("POST", path, json={"objective": "sleep"}, status=200)
    eventually(lambda: (t.directory() / "begun").exists(), "the command runs")
    t.rest("POST", path, json={"objective": "another"}, status=409)
    t.rest("POST", path + "/stop", status=200)
    c.seen.wait(lambda e: getattr(e, "key", "") == "goal" and e.value["status"] == "interrupted", "the goal stops")
    eventually(lambda: t.info(c)["execution_status"] != "running", "the run stops")
    t.rest("POST", path + "/resume", status=200)
    c.seen.wait(lambda e: getattr(e, "key", "") == "goal" and e.value["status"] == "complete", "the goal is reached")


@scenario(sandbox=False)
def titles(t):
    c = t.conversation(t.agent([say("hello")]))
    c.set_title("My own title")
    equal(t.info(c)["title"], "My own title")
    t.run(c, "please write tests")
    with raises(httpx.HTTPStatusError, "422"):
        c.set_title("  ")
    if not t.plan.reference:  # older clients use this route
        r = t.rest("POST", f"/api/conversations/{c.id}/generate_title", json={"max_length": 40}, status=200)
        equal(r.json()["title"], "A Generated Title")
    equal(t.info(c)["title"], "My own title")


@scenario(sandbox=False)
def titles_by_the_client(t):
    """generate_title of the SDK asks the model itself, from the events."""
    c = t.conversation(t.agent([say("hello")]))
    t.run(c, "please write tests")
    equal(c.generate_title(), "A Generated Title")


@scenario(sandbox=False)
def names_itself(t):
    c = t.conversation(t.agent([say("hello")]))
    t.run(c, "please write some tests")
    equal(eventually(lambda: t.info(c)["title"], "the conversation has a title"), "A Generated Title")


@scenario(sandbox=False)
def lists_conversations(t):
    agent = t.agent([say("hi")] * 3)
    ids = [str(t.conversation(agent, tags={"case": "listing", "n": str(i)}).id) for i in range(3)]
    r = t.rest("GET", "/api/conversations/search", params={"limit": 100}, status=200).json()
    got = [i["id"] for i in r["items"] if i["tags"].get("case") == "listing"]
    equal(sorted(got), sorted(ids))
    if not t.plan.reference:
        equal(t.rest("GET", "/api/conversations/count", status=200).json(), 3)
        page = t.rest("GET", "/api/conversations/search", params={"limit": 2}, status=200).json()
        rest = t.rest("GET", "/api/conversations/search", params={"limit": 2, "page_id": page["next_page_id"]}, status=200).json()
        equal(sorted(i["id"] for i in page["items"] + rest["items"]), sorted(ids))
    many = t.rest("GET", "/api/conversations", params={"ids": ids}, status=200).json()
    equal([i["id"] for i in many], ids)


@scenario(sandbox=False)
def switches_the_model(t):
    second = t.llm([say("from the second model")])
    c = t.conversation(t.agent([say("from the first model")]))
    t.run(c, "hello")
    equal(last_message(c), "from the first model")
    new = t.model_of(second.url, usage="switched")
    t.rest(
        "POST", f"/api/conversations/{c.id}/switch_llm",
        json={"llm": new.model_dump(mode="json", context={"expose_secrets": True})}, status=200,
    )
    t.run(c, "and you?")
    equal(last_message(c), "from the second model")
    c.state.refresh_from_server()
    contains(c.state.stats.usage_to_metrics, "agent")


@scenario(sandbox=False)
def switches_by_tool(t):
    second = t.llm([say("I am the second")])
    profile = t.model_of(second.url, usage="profile").model_dump(mode="json", exclude_none=True, context={"expose_secrets": True})
    t.rest("POST", "/api/profiles/second", json={"llm": profile, "include_secrets": True}, status=201)
    agent = t.agent([call("switch_llm", profile_name="second", reason="better")], include_default_tools=["FinishTool", "ThinkTool", "SwitchLLMTool"])
    c = t.conversation(agent)
    t.run(c, "switch")
    equal(last_message(c), "I am the second")
    equal(observations(c)[0].observation.profile_name, "second")
