"""Servers that stop and start again."""

from harness import (
    KEY, bash, contains, equal, eventually, finish, kinds, last_message, lasting, observations, raises, say, scenario, status,
    text_of,
)

import uuid
from pathlib import Path

import httpx
from openhands.sdk.conversation import RemoteConversation
from openhands.sdk.conversation.impl.remote_conversation import WebSocketCallbackClient


@scenario(own_server=True)
def comes_back_after_a_stop(t):
    c = t.conversation(t.agent([bash("echo before"), say("first"), say("second")]))
    t.run(c, "hello")
    before = t.log(c)
    t.server.stop()
    t.server.start()
    again = RemoteConversation.attach(t.workspace(), c.id, visualizer=None)
    t.kept.append(again)
    equal([e.id for e in again.state.events[:]][: len(before)], [e["id"] for e in before])
    equal(again.agent.llm.model, "openai/scripted")
    t.run(again, "and now?")  # with the key that it was created with
    equal(last_message(again), "second")


@scenario(own_server=True, reference=False)
def goes_on_after_a_kill(t):
    """A run continues by itself after the server was killed, and no action runs
    twice."""
    turns = [
        bash("echo once >> log1"), bash("echo $$ > begun; sleep 0.4; echo twice >> log2"), bash("echo thrice >> log3"),
        finish("Survived."),
    ]
    c = t.conversation(t.agent(turns, script={"by_history": True}))
    t.run(c, "work", blocking=False)
    eventually(lambda: (t.directory() / "begun").exists(), "the second command runs")
    t.server.kill()
    t.server.start()
    eventually(lambda: t.info(c)["execution_status"] == "finished", "the run goes on and ends")
    equal((t.directory() / "log1").read_text(), "once\n")
    equal((t.directory() / "log3").read_text(), "thrice\n")
    again = RemoteConversation.attach(t.workspace(), c.id, visualizer=None)
    t.kept.append(again)
    acts = [e for e in again.state.events[:] if type(e).__name__ == "ActionEvent"]
    answers = [e for e in again.state.events[:] if getattr(e, "tool_call_id", None) and type(e).__name__ != "ActionEvent"]
    equal(sorted(a.tool_call_id for a in acts), sorted(e.tool_call_id for e in answers), "every call has one answer")
    t.note("the call that was cut off: " + type(answers[1]).__name__)


@scenario(own_server=True, reference=False)
def a_waiting_client_sees_the_end_after_a_restart(t):
    """The client stays connected through a graceful restart in the middle of
    a run: it reconnects by itself and loses nothing."""
    turns = [bash("touch begun; until [ -e go ]; do sleep 0.05; done"), bash("echo later"), finish("Over.")]
    c = t.conversation(t.agent(turns, script={"by_history": True}))
    t.run(c, "work", blocking=False)
    eventually(lambda: (t.directory() / "begun").exists(), "the command runs")
    (t.directory() / "go").touch()
    t.server.stop()
    t.server.start()
    c.seen.wait_status("finished")
    c.state.events.reconcile()
    stored = [e["id"] for e in t.log(c)]
    got = [e.id for e in c.seen.events]
    for e in (e for e in t.log(c) if e["kind"] in ("ActionEvent", "ObservationEvent", "MessageEvent")):
        equal(got.count(e["id"]), 1, f"{e['kind']} at the client, stored as {stored.index(e['id'])}")


@scenario(own_server=True, reference=False)  # 1.58.0 loses it
def a_secret_survives_a_restart(t):
    c = t.conversation(t.agent([bash("echo [$TOKEN_X]"), bash("echo [$TOKEN_X] again"), say("ok")]), secrets={"TOKEN_X": "s3cret-value-42"})
    t.server.stop()
    t.server.start()
    again = RemoteConversation.attach(t.workspace(), c.id, visualizer=None)
    t.kept.append(again)
    t.run(again, "use it")
    out = text_of(observations(again)[0])
    contains(out, "[<secret-hidden>]")


@scenario(sandbox=False)
def wrong_key(t):
    c = t.conversation(t.agent([say("hi")]))
    bad = t.workspace(key="wrong")
    with raises(httpx.HTTPStatusError, "401"):
        RemoteConversation.attach(bad, c.id, visualizer=None)
    for key in ("wrong", "", None):
        equal(t.rest("GET", f"/api/conversations/{c.id}", key=key).status_code, 401)
    equal(t.rest("GET", "/health", key=None).status_code, 200)
    assert bad.alive
    # The events socket closes with 4001, which the client does not retry.
    ws = WebSocketCallbackClient(host=t.server.url, conversation_id=str(c.id), callback=lambda e: None, api_key="wrong")
    ws.start()
    assert not ws.wait_until_ready(20), "the socket accepted a wrong key"
    assert ws._stop.is_set(), "the client reconnects"
    equal(t.rest("GET", f"/api/conversations/{c.id}", key=KEY).status_code, 200)


@scenario
def attaches(t):
    c = t.conversation(t.agent([bash("echo one"), say("first"), say("second")], tools=["terminal", "file_editor"]))
    t.run(c, "hello")
    a = RemoteConversation.attach(t.workspace(), c.id, visualizer=None)
    t.kept.append(a)
    c.state.events.reconcile()
    equal([e.id for e in lasting(a.state.events[:])], [e["id"] for e in t.log(c)])
    equal(kinds(lasting(a.state.events[:])), kinds(lasting(c.state.events[:])))
    equal([x.name for x in a.agent.tools], ["terminal", "file_editor"])
    t.run(a, "go on")
    equal(last_message(a), "second")
    equal(status(c), status(a))


@scenario(reference=False)
def leaves_nothing_running_when_deleted(t):
    mark = f"1{uuid.uuid4().int % 10**9}"  # a number of seconds that no other process uses
    c = t.conversation(t.agent([bash(f"sleep {mark} & echo started"), say("it runs")]))
    t.run(c, "leave something behind")
    assert processes(mark), "the command does not run"
    t.rest("DELETE", f"/api/conversations/{c.id}", status=200)
    equal(processes(mark), [])
    equal(processes(f"action-server --workspace {t.directory()}"), [])


def processes(text):
    """The command lines that contain a text."""
    found = []
    for p in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = p.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line:
            found.append(line)
    return found
