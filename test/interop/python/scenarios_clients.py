"""Several clients and many conversations; connections that break."""

import threading
import time
from collections import Counter

from harness import (
    bash, equal, eventually, finish, kinds, last_message, lasting, observations, say, scenario, status, text_of,
)
from processes import Proxy

from openhands.sdk.conversation import RemoteConversation


@scenario(sandbox=False)
def two_clients(t):
    a = t.conversation(t.agent([bash("echo one"), say("first"), say("second")]))
    b = RemoteConversation.attach(t.workspace(), a.id, visualizer=None)
    t.kept.append(b)
    t.run(a, "from a")
    eventually(lambda: "first" == last_message(b), "the other client sees the answer")
    t.run(b, "from b")
    eventually(lambda: "second" == last_message(a), "and back")
    a.state.events.reconcile()
    b.state.events.reconcile()
    equal([e.id for e in lasting(a.state.events[:])], [e.id for e in lasting(b.state.events[:])])


@scenario
def both_clients_wait(t):
    """Two clients wait for the same run; both see its end."""
    a = t.conversation(t.agent([bash("touch begun; until [ -e go ]; do sleep 0.05; done"), say("over")]))
    b = RemoteConversation.attach(t.workspace(), a.id, visualizer=None)
    t.kept.append(b)
    t.run(a, "go", blocking=False)
    eventually(lambda: (t.directory() / "begun").exists(), "the command runs")
    done = []
    waits = [threading.Thread(target=lambda c=c: done.append(t.run(c)), daemon=True) for c in (a, b)]
    for w in waits:
        w.start()
    eventually(lambda: all(c._run_armed.is_set() for c in (a, b)), "both wait")
    (t.directory() / "go").touch()
    for w in waits:
        w.join(30)
    equal(len(done), 2, "clients that saw the end")


@scenario
def sixteen_at_once(t):
    turns = [bash("echo step 1 in $PWD"), bash("sleep 0.1; echo step 2"), bash("echo step 3 > out.txt; cat out.txt"), finish("Done.")]
    n = 16 if not t.plan.reference else 4
    agent = t.agent(turns, script={"by_history": True})
    all_of = [t.conversation(agent, t.workspace(t.directory(f"w{i}"))) for i in range(n)]
    errors, start = [], time.monotonic()

    def one(c):
        try:
            t.run(c, "work")
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=one, args=(c,), daemon=True) for c in all_of]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    equal(errors, [])
    t.note(f"{n} conversations of 3 commands in {time.monotonic() - start:.2f} s")
    for i, c in enumerate(all_of):
        equal(status(c), "finished")
        equal(len(observations(c, "terminal")), 3)
        assert f"w{i}" in text_of(observations(c, "terminal")[0]), "a command ran in another workspace"
        equal((t.directory(f"w{i}") / "out.txt").read_text(), "step 3\n")


@scenario(reference=False)
def loses_nothing_when_connections_break(t):
    """The socket is cut repeatedly while the agent works. Afterwards each stored
    event has reached the callbacks exactly once."""
    turns = [bash(f"echo step {i}; sleep 0.1") for i in range(30)]
    proxy = Proxy(t.server.port)
    t.ends.append(proxy.end)
    c = t.conversation(t.agent([*turns, finish("Done.")]), t.workspace(url=proxy.url))
    t.run(c, "work", blocking=False)
    cuts = 0
    for i in (3, 12, 20):
        eventually(lambda i=i: len(t.log(c)) > i * 2, "the agent works")
        cuts += proxy.cut()
        eventually(lambda: proxy.pairs, "the client is back")
    eventually(lambda: t.info(c)["execution_status"] == "finished", "the run ends")
    stored = [e for e in t.log(c) if e["kind"] != "ConversationStateUpdateEvent"]
    last = stored[-1]["id"]
    c.seen.wait(lambda e: e.id == last, "the last event")
    count = Counter(e.id for e in c.seen.events)
    for e in stored:
        equal(count[e["id"]], 1, f"{e['kind']} at the callbacks")
    t.note(f"{cuts} connections cut, {len(stored)} events")


@scenario(sandbox=False)
def a_message_and_a_run_at_once(t):
    """Many messages with run at the same time: each is answered, alone or together
    with others, and the run ends."""
    c = t.conversation(t.agent([say("ok", repeat="forever")], script={"lenient": True}))
    path = f"/api/conversations/{c.id}/events"

    def send(i):
        body = {"role": "user", "content": [{"type": "text", "text": f"m{i}"}], "run": True}
        t.rest("POST", path, json=body, status=200)

    threads = [threading.Thread(target=send, args=(i,), daemon=True) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    def rests():
        log = [e for e in t.log(c) if e["kind"] == "MessageEvent"]
        users = [e for e in log if e["source"] == "user"]
        return len(users) == 8 and log[-1]["source"] == "agent" and t.info(c)["execution_status"] != "running"

    eventually(rests, "all are answered")
    equal(Counter(kinds(c.seen.events))["ConversationErrorEvent"], 0)
