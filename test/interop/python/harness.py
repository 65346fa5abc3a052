"""Shared by all scenarios: a case with its server, LLM, workspace and objects of
the SDK."""

import functools
import logging
import threading
import time
import uuid
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from processes import KEY, ScriptedLLM, Server

from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.sdk.event import ConversationStateUpdateEvent, StreamingDeltaEvent
from openhands.sdk.workspace import RemoteWorkspace

# Importing a tool lets the SDK decode its actions and observations.
import openhands.tools.file_editor  # noqa: F401
import openhands.tools.glob  # noqa: F401
import openhands.tools.grep  # noqa: F401
import openhands.tools.task  # noqa: F401
import openhands.tools.task_tracker  # noqa: F401
import openhands.tools.terminal  # noqa: F401

scenarios = {}
timed_out = set()  # threads whose client did not see the end of a run in time


class _TimeoutHandler(logging.Handler):
    def emit(self, record):
        if "accepting as final" in record.getMessage():
            timed_out.add(record.thread)


def watch_client_timeouts():
    """Record when a client stops waiting for the end of a run."""
    log = logging.getLogger("openhands.sdk.conversation.impl.remote_conversation")
    log.setLevel(logging.WARNING)
    log.propagate = False
    log.addHandler(_TimeoutHandler())


def scenario(function=None, *, own_server=False, reference=True, sandbox=True):
    """Register a scenario under its function's name.

    own_server: it stops or disconnects its server, so no other scenario may use it.
    reference, sandbox: whether it can run with the reference or in a sandbox.
    """
    if function is None:
        return functools.partial(scenario, own_server=own_server, reference=reference, sandbox=sandbox)
    function.own_server, function.on_reference, function.in_sandbox = own_server, reference, sandbox
    assert function.__name__ not in scenarios, function.__name__
    scenarios[function.__name__] = function
    return function


@dataclass
class Plan:
    """The programs that the scenarios run against."""

    deft: str
    reference: str
    sandbox: str
    root: Path
    shared: Server | None = None


def say(text, **turn):
    """A turn in which the model answers with text."""
    return {"reply": {"text": text}, **turn}


def call(tool, /, *, text="", turn=None, **arguments):
    """A turn in which the model calls a tool."""
    return calls((tool, arguments), text=text, turn=turn)


def calls(*wanted, text="", turn=None):
    """A turn in which the model calls several tools."""
    reply = {"tool_calls": [{"name": n, "arguments": a} for n, a in wanted]}
    if text:
        reply["text"] = text
    return {"reply": reply, **(turn or {})}


def bash(command, **more):
    return call("terminal", command=command, **more)


def finish(message="All done."):
    return call("finish", message=message)


# Servers also ask the model for a title.
TITLE = say("A Generated Title", match={"user_regexp": "(?i)(generate|write) a title"}, repeat="forever")


@dataclass
class Case:
    """One run of one scenario."""

    plan: Plan
    name: str
    own_server: bool
    notes: list = field(default_factory=list)
    ends: list = field(default_factory=list)
    kept: list = field(default_factory=list)  # closing a client can take 5 s
    _server: Server | None = None

    @property
    def folder(self):
        return self.plan.root / self.name

    @property
    def server(self):
        """The server: a fresh one, or the shared one of the reference."""
        if self._server is None:
            if self.plan.reference and not self.own_server:
                self._server = self.plan.shared
            else:
                self.start_server()
        return self._server

    def start_server(self, **env):
        """Start the server, with variables of its environment."""
        self._server = Server(self.plan, self.folder / "server", env)
        self.ends += [self._server.stop, self._server.clear]

    def note(self, text):
        """Add a note to the report of the scenario."""
        self.notes.append(text)

    def llm(self, turns, **script):
        turns = [TITLE, *turns]
        llm = ScriptedLLM(self.plan.deft, self.folder / f"llm{len(self.ends)}", {"turns": turns, **script})
        self.ends.append(llm.end)
        return llm

    def model(self, turns, *, stream=False, usage="agent", name="openai/scripted", **script):
        """An LLM of the SDK that answers with turns."""
        return self.model_of(self.llm(turns, **script).url, stream=stream, usage=usage, name=name)

    @staticmethod
    def model_of(url, *, stream=False, usage="agent", key="llm-key-of-the-user", name="openai/scripted", **more):
        return LLM(
            model=name, base_url=url + "/v1", api_key=key, usage_id=usage, stream=stream,
            reasoning_effort="none", num_retries=1, retry_min_wait=0, retry_max_wait=0, **more,
        )

    def agent(self, turns, *, tools=("terminal",), stream=False, script=None, **more):
        model = turns if isinstance(turns, LLM) else self.model(turns, stream=stream, **(script or {}))
        return Agent(llm=model, tools=[Tool(name=t) for t in tools], **more)

    def directory(self, name="workspace"):
        path = self.folder / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def workspace(self, directory=None, *, url=None, key=KEY):
        """The SDK's workspace for a directory, which is created."""
        return RemoteWorkspace(
            host=url or self.server.url, api_key=key, working_dir=str(directory or self.directory()),
        )

    def conversation(self, agent, workspace=None, **more):
        """A conversation that records all events of its callbacks."""
        seen = Seen()
        c = Conversation(
            agent=agent, workspace=workspace or self.workspace(), visualizer=None, delete_on_close=False,
            callbacks=[seen.add], **more,
        )
        c.seen = seen
        self.kept.append(c)
        return c

    def run(self, c, message=None, *, blocking=True):
        """Send and run. The end of the run must arrive over the WebSocket; after 30 s
        the client stops waiting for it and logs that."""
        if message is not None:
            c.send_message(message)
        start = time.monotonic()
        c.run(blocking=blocking, timeout=3600)
        took = time.monotonic() - start
        if threading.get_ident() in timed_out and not self.plan.reference:
            raise AssertionError(f"the end of the run did not arrive over the WebSocket ({took:.1f} s)")
        return took

    def rest(self, method, path, *, key=KEY, status=None, url=None, **more):
        """A plain HTTP request, for routes without a method in the SDK."""
        headers = {"X-Session-API-Key": key} if key else {}
        headers.update(more.pop("headers", {}))
        r = httpx.request(method, (url or self.server.url) + path, headers=headers, timeout=180, **more)
        if status is not None:
            equal(r.status_code, status, f"{method} {path}: {r.text[:500]}")
        return r

    def info(self, c):
        return self.rest("GET", f"/api/conversations/{c.id}", status=200).json()

    def log(self, c):
        """All events of a conversation as the server stores them."""
        items, page = [], None
        while True:
            params = {"limit": 100, **({"page_id": page} if page else {})}
            r = self.rest("GET", f"/api/conversations/{c.id}/events/search", params=params, status=200).json()
            items += r["items"]
            if not (page := r.get("next_page_id")):
                return items

    def close(self):
        failed = None
        for end in reversed(self.ends):
            try:
                end()
            except AssertionError as e:
                failed = e
        if failed:
            raise failed


class Seen:
    """The events that callbacks received."""

    def __init__(self):
        self.events, self.changed = [], threading.Condition()

    def add(self, event):
        with self.changed:
            self.events.append(event)
            self.changed.notify_all()

    def of(self, kind):
        with self.changed:
            return [e for e in self.events if type(e).__name__ == kind]

    def wait(self, test, what, seconds=180):
        """Wait until one event passes a test, and return it."""
        with self.changed:
            for _ in range(2):
                for e in self.events:
                    if test(e):
                        return e
                if self.changed.wait_for(lambda: any(map(test, self.events)), seconds):
                    continue
                break
        raise AssertionError(f"never seen: {what}; seen: {Counter(type(e).__name__ for e in self.events)}")

    def wait_kind(self, kind, seconds=180):
        return self.wait(lambda e: type(e).__name__ == kind, kind, seconds)

    def wait_status(self, status, seconds=180):
        def is_it(e):
            if not isinstance(e, ConversationStateUpdateEvent):
                return False
            got = e.value.get("execution_status") if e.key == "full_state" else e.value if e.key == "execution_status" else ""
            return got == status

        return self.wait(is_it, f"status {status}", seconds)


def kinds(events):
    return [type(e).__name__ for e in events]


def lasting(events):
    """The stored events; deltas and full states are not stored."""
    return [
        e for e in events
        if not isinstance(e, StreamingDeltaEvent)
        and not (isinstance(e, ConversationStateUpdateEvent) and e.key == "full_state")
    ]


def status(c):
    """The present status on the server."""
    c.state.refresh_from_server()
    return c.state.execution_status.value


def observations(c, tool=None):
    return [
        e for e in c.state.events[:]
        if type(e).__name__ == "ObservationEvent" and (tool is None or e.tool_name == tool)
    ]


def text_of(observation):
    return "".join(getattr(part, "text", "") for part in observation.observation.to_llm_content)


def last_message(c):
    """The last message of the agent."""
    for e in reversed(c.state.events[:]):
        if type(e).__name__ == "MessageEvent" and e.source == "agent":
            return "".join(p.text for p in e.llm_message.content)
    return ""


def equal(got, want, what=""):
    assert got == want, f"{what}: got {got!r}, want {want!r}"


def contains(text, part):
    assert part in text, f"{part!r} is not in {text!r}"


def lacks(text, part):
    assert part not in text, f"{part!r} is in {text!r}"


@contextmanager
def raises(kind, message=""):
    try:
        yield
    except kind as e:
        contains(str(e), message)
        return
    raise AssertionError(f"no {kind.__name__} was raised")


def eventually(test, what, seconds=180):
    """Wait for something that causes no event."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if got := test():
            return got
        time.sleep(0.02)
    raise AssertionError(f"never came true: {what}")


def new_id():
    return uuid.uuid4()
