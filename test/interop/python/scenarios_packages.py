"""Other parts of the packages: the default agent of openhands-tools, the
workspaces of openhands-workspace, several servers on one directory."""

import base64
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness import (
    KEY, bash, call, contains, equal, eventually, finish, kinds, last_message, observations, raises, say, scenario,
    status, text_of,
)
from processes import Server

from openhands.sdk import ImageContent, Message, TextContent
from openhands.sdk.conversation import RemoteConversation
from openhands.tools.preset.default import get_default_agent
from openhands.tools.preset.gemini import get_gemini_agent
from openhands.tools.preset.gpt5 import get_gpt5_agent
from openhands.tools.preset.planning import get_planning_agent
from openhands.workspace import APIRemoteWorkspace, OpenHandsCloudWorkspace

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000 1f15c489"
        "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
    )
).decode()


@scenario
def default_agent(t):
    """The agent that openhands-tools recommends."""
    turns = [
        bash("echo default > made.txt", text="I make it."),
        call("file_editor", command="view", path=str(t.directory() / "made.txt")), finish("Made."),
    ]
    c = t.conversation(get_default_agent(t.model(turns), cli_mode=True))
    t.run(c, "make it")
    equal(status(c), "finished")
    contains(text_of(observations(c, "file_editor")[0]), "default")


@scenario(reference=False)
def planning(t):
    """A planning agent has no terminal, and writes its plan only. The reference makes a plan of headings first."""
    plan, code = t.directory() / ".agents_tmp" / "PLAN.md", t.directory() / "code.py"
    turns = [
        call("glob", pattern="*"), call("terminal", command="touch made"),
        call("planning_file_editor", command="create", path=str(code), file_text="x"),
        call("planning_file_editor", command="create", path=str(plan), file_text="1. Write it"), finish("Planned."),
    ]
    c = t.conversation(get_planning_agent(t.model(turns)))
    t.run(c, "plan")
    equal(status(c), "finished")
    refused, written = observations(c, "planning_file_editor")
    equal((refused.observation.is_error, written.observation.is_error), (True, False))
    equal((plan.read_text(), code.exists(), (t.directory() / "made").exists()), ("1. Write it", False, False))


@scenario
def patches(t):
    """The agent for GPT-5 changes files by patches."""
    text = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** End Patch"
    (t.directory() / "a.txt").write_text("one\ntwo\n")
    c = t.conversation(get_gpt5_agent(t.model([call("apply_patch", patch=text), finish("Done.")]), cli_mode=True))
    t.run(c, "patch it")
    equal(status(c), "finished")
    (patched,) = observations(c, "apply_patch")
    patched = patched.observation
    equal((patched.fuzz, patched.commit.changes["a.txt"].new_content), (0, "one\n2\n"))
    equal((t.directory() / "a.txt").read_text(), "one\n2\n")


@scenario
def gemini(t):
    """The agent for Gemini has tools of its own for files."""
    turns = [
        call("write_file", file_path="a.txt", content="one\ntwo\n"),
        call("edit", file_path="a.txt", old_string="two", new_string="2"), call("read_file", file_path="a.txt"),
        call("list_directory"), finish("Done."),
    ]
    c = t.conversation(get_gemini_agent(t.model(turns), cli_mode=True))
    t.run(c, "edit it")
    equal(status(c), "finished")
    equal(observations(c, "write_file")[0].observation.is_new_file, True)
    equal(observations(c, "edit")[0].observation.replacements_made, 1)
    contains(observations(c, "read_file")[0].observation.file_content, "2")
    contains([e.name for e in observations(c, "list_directory")[0].observation.entries], "a.txt")
    equal((t.directory() / "a.txt").read_text(), "one\n2\n")


@scenario
def images(t):
    """An image reaches a model with vision and is stored in the log."""
    c = t.conversation(t.agent(t.model([say("A pixel.")], name="openai/gpt-4o")))
    url = "data:image/png;base64," + PIXEL
    message = Message(role="user", content=[TextContent(text="what is it?"), ImageContent(image_urls=[url])])
    t.run(c, message)
    equal(last_message(c), "A pixel.")
    sent = [e for e in c.state.events[:] if type(e).__name__ == "MessageEvent" and e.source == "user"][0]
    equal(sent.llm_message.content[1].image_urls, [url])


@scenario
def cloud_workspace(t):
    """The workspace of OpenHands Cloud, as used by a script inside its sandbox."""
    os.environ["SESSION_API_KEY"] = KEY  # the workspace reads the key from here
    ws = OpenHandsCloudWorkspace(
        local_agent_server_mode=True, cloud_api_url="http://127.0.0.1:9", cloud_api_key="none",
        agent_server_port=t.server.port, working_dir=str(t.directory()),
    )
    equal(ws.execute_command("echo $((6*7))").stdout, "42\n")
    c = t.conversation(t.agent([bash("pwd"), say("here")]), ws)
    t.run(c, "where?")
    contains(text_of(observations(c)[0]), str(t.directory()))
    equal(last_message(c), "here")


class RuntimeAPI(BaseHTTPRequestHandler):
    """The part of the Runtime API that its client uses, with one server."""

    def log_message(self, *args):
        pass

    def do_GET(self):
        started = "/start" in self.server.asked
        about = {**self.server.about, "status": "running", "pod_status": "ready"}
        self.answer(200 if started else 404, about if started else {})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(self.path)
        self.answer(200, self.server.about)

    def answer(self, code, body):
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@scenario
def runtime_api_workspace(t):
    """A workspace that starts its server through the Runtime API."""
    api = ThreadingHTTPServer(("127.0.0.1", 0), RuntimeAPI)
    api.asked, api.about = [], {"runtime_id": "r1", "url": t.server.url, "session_api_key": KEY}
    threading.Thread(target=api.serve_forever, daemon=True).start()
    t.ends.append(api.shutdown)
    with APIRemoteWorkspace(
        runtime_api_url=f"http://127.0.0.1:{api.server_port}", runtime_api_key="none", server_image="any",
        working_dir=str(t.directory()),
    ) as ws:
        c = t.conversation(t.agent([bash("echo through the api"), say("ok")]), ws)
        t.run(c, "go")
        contains(text_of(observations(c)[0]), "through the api")
    equal(api.asked, ["/start", "/stop"])


@scenario(reference=False, own_server=True)
def two_servers_on_one_folder(t):
    """One server runs a conversation; after it has ended, the other can."""
    turns = [bash("touch begun; until [ -e go ]; do sleep 0.05; done"), say("first"), say("second")]
    c = t.conversation(t.agent(turns, script={"by_history": True}))
    t.run(c, "work", blocking=False)
    eventually(lambda: (t.directory() / "begun").exists(), "the command runs")
    folder = t.server.folder
    env = {"OH_CONVERSATIONS_PATH": str(folder / "conversations"), "OH_PERSISTENCE_DIR": str(folder / "persistence")}
    other = Server(t.plan, t.folder / "other", env)
    t.ends += [other.stop, other.clear]
    r = t.rest("POST", f"/api/conversations/{c.id}/run", url=other.url)
    equal(r.status_code, 409, r.text)
    contains(r.text, "another agent server")
    (t.directory() / "go").touch()
    eventually(lambda: last_message(c) == "first", "the first server ends the run")
    t.server.stop()
    again = RemoteConversation.attach(t.workspace(url=other.url), c.id, visualizer=None)
    t.kept.append(again)
    t.run(again, "and you?")
    equal(last_message(again), "second")
    equal(kinds(again.state.events[:]).count("ActionEvent"), 1)


@scenario(own_server=True)
def refuses_at_capacity(t):
    """Runs beyond the limit are refused; a message sent with one is stored."""
    t.start_server(OH_MAX_CONCURRENT_RUNS="1")
    agent = t.agent([bash("touch begun; until [ -e go ]; do sleep 0.05; done"), say("over"), say("mine")])
    busy, idle = t.conversation(agent), t.conversation(agent, t.workspace(t.directory("idle")))
    t.run(busy, "work", blocking=False)
    eventually(lambda: (t.directory() / "begun").exists(), "the command runs")
    with raises(Exception, "429"):
        t.run(idle, "me too")
    body = {"role": "user", "content": [{"type": "text", "text": "and this"}], "run": True}
    equal(t.rest("POST", f"/api/conversations/{idle.id}/events", json=body).status_code, 429)
    (t.directory() / "go").touch()
    busy.seen.wait_status("finished")
    t.run(idle)
    equal(last_message(idle), "mine")
    texts = [p.text for e in idle.state.events[:] if type(e).__name__ == "MessageEvent" for p in e.llm_message.content]
    equal(texts, ["me too", "and this", "mine"])




@scenario
def structured_finish(t):
    """A finish tool with the response schema of the caller."""
    schema = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
    agent = get_default_agent(
        t.model([call("finish", message="no colour"), call("finish", colour="blue", message="It is blue.")]), cli_mode=True, finish_tool_response_schema=schema,
    )
    c = t.conversation(agent)
    t.run(c, "which colour?")
    equal(status(c), "finished")
    acts = [e for e in c.state.events[:] if type(e).__name__ == "ActionEvent"]
    equal(acts[-1].action.message, "It is blue.")
    equal(json.loads(acts[-1].tool_call.arguments)["colour"], "blue")
    if not t.plan.reference:
        errors = [e.error for e in c.state.events[:] if type(e).__name__ == "AgentErrorEvent"]
        contains(errors[0], "colour")
