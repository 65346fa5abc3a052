"""OpenHandsCloudWorkspace, which works with OpenHands' cloud, against `deft serve`."""

import os
import re

import httpx
from harness import bash, contains, equal, finish, last_message, lacks, observations, raises, scenario, text_of
from processes import Process, await_line

from openhands.sdk import Agent, Tool
from openhands.sdk.workspace import RemoteWorkspace
from openhands.workspace import OpenHandsCloudWorkspace


class AppServer:
    """A `deft serve` with one user and an API key of his, which ends with its scenario."""

    def __init__(self, t, *args):
        folder = t.folder / "serve"
        folder.mkdir(parents=True)
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
        self.process = Process(
            [t.plan.deft, "serve", "--data", str(folder / "data"), "--address", "127.0.0.1:0", *args],
            folder / "log", env, folder,
        )
        t.ends.append(self.process.end)
        found = await_line(self.process, r"(http://\S+)/#login=(\S+)")
        self.url = found[1]
        self.browser = httpx.Client(base_url=self.url, timeout=180)
        t.ends.append(self.browser.close)
        self.ask("POST", "/api/v1/login", json={"code": found[2]})
        self.key = self.ask("POST", "/api/keys", json={"name": "interop"})["key"]

    def ask(self, method, path, **more):
        r = self.browser.request(method, path, **more)
        assert r.status_code < 300, f"{method} {path}: {r.status_code} {r.text[:500]}"
        return r.json() if r.content else None

    def sandbox(self, sandbox_id):
        return self.ask("GET", "/api/v1/sandboxes", params={"id": sandbox_id})[0]

    def workspace(self, **more):
        return OpenHandsCloudWorkspace(cloud_api_url=self.url, cloud_api_key=self.key, **more)


@scenario(reference=False)
def app_server_workspace(t):
    """A sandbox: commands and files before there is a conversation, pause and resume, settings and secrets of the
    user, a run, and deletion."""
    app = AppServer(t)
    llm = t.llm([bash("echo of-$CLOUD_SECRET; pwd; cat up.txt"), finish("The cloud works.")])
    app.ask("POST", "/api/v1/settings", json={"agent_settings_diff": {
        "llm": {"model": "openai/scripted", "api_key": "sk-of-the-user", "base_url": llm.url + "/v1"},
        "mcp_config": {"files": {"url": "https://mcp.example.org/x"}},
    }})
    app.ask("POST", "/api/v1/secrets", json={"name": "CLOUD_SECRET", "value": "moonlight", "description": "a word"})

    ws = app.workspace(keep_alive=True)
    box, key = ws._sandbox_id, ws._session_api_key
    equal(app.sandbox(box)["status"], "RUNNING")
    got = ws.execute_command("echo out; echo err >&2; exit 3")
    equal((got.exit_code, got.stdout, got.stderr), (3, "out\n", "err\n"))
    local = t.directory() / "up.txt"
    local.write_text("carried in\n")
    assert ws.file_upload(local, "/workspace/project/up.txt").success
    equal(ws.execute_command("cat up.txt").stdout, "carried in\n")
    back = t.directory() / "down.txt"
    assert ws.file_download("/workspace/project/up.txt", back).success
    equal(back.read_text(), "carried in\n")
    # Not the server's own files.
    # Of the server's directory, with its keys and databases, only the workspace is seen, and the
    # program that runs in the sandbox.
    assert (t.folder / "serve/data/events/app/app.db").exists()
    seen = ws.execute_command(f"find {t.folder}/serve -type f").stdout.split()
    mine = [path for path in seen if not re.fullmatch(r".*/serve/data/events/program/[0-9a-f]{64}/deft-sandbox", path)]
    equal([path.rpartition("/workspaces/")[2] for path in mine], [f"{box}/project/up.txt"])

    app.ask("POST", f"/api/v1/sandboxes/{box}/pause")
    equal(app.sandbox(box)["status"], "PAUSED")
    ws.resume()
    equal(app.sandbox(box)["status"], "RUNNING")
    equal(ws.execute_command("cat up.txt").stdout, "carried in\n")

    model = ws.get_llm(num_retries=1)
    equal((model.model, model.api_key.get_secret_value(), model.base_url), ("openai/scripted", "sk-of-the-user", llm.url + "/v1"))
    assert re.search(r"read with their secrets.*owner=", ws_log(app)), "that secrets were read is not logged"
    secrets = ws.get_secrets()
    equal((list(secrets), secrets["CLOUD_SECRET"].description), (["CLOUD_SECRET"], "a word"))
    equal([s.url for s in ws.get_mcp_config().values()], ["https://mcp.example.org/x"])
    # Neither a sandbox's key nor a browser gets the values.
    for headers in ({"X-Session-API-Key": key}, {}):
        r = (httpx if headers else app.browser).get(
            (app.url if headers else "") + "/api/v1/users/me", params={"expose_secrets": "true"}, headers=headers)
        assert r.status_code in (401, 403), r.text
        lacks(r.text, "sk-of-the-user")

    c = t.conversation(Agent(llm=model, tools=[Tool(name="terminal")]), ws)
    c.update_secrets(secrets)
    t.run(c, "Say the word.")
    equal(last_message(c) or c.state.execution_status.value, "finished")
    said = text_of(observations(c, "terminal")[0])
    contains(said, "of-<secret-hidden>")
    lacks(said, "moonlight")
    contains(said, "carried in")
    # The user sees the conversation in the app.
    listed = app.ask("GET", "/api/v1/app-conversations/search")["items"]
    equal([(i["id"], i["sandbox_id"]) for i in listed], [(c.id.hex, box)])
    equal(ws.execute_command("cat up.txt").stdout, "carried in\n")

    again = app.workspace(sandbox_id=box)
    equal((again.host, again.api_key), (ws.host, key))
    again.cleanup()
    equal(app.sandbox(box), None)
    with raises(Exception, "401"):
        RemoteWorkspace(host=app.url, api_key=key, working_dir="/workspace").client.get("/api/conversations/search").raise_for_status()


def ws_log(app):
    with open(app.process.log, encoding="utf-8") as f:
        return f.read()


@scenario(reference=False)
def app_server_workspace_refused(t):
    """A wrong key, a sandbox that does not exist, and an unknown specification are errors."""
    app = AppServer(t)
    for more, status in (
        ({"cloud_api_key": "wrong"}, "401"), ({"sandbox_spec_id": "none"}, "404"), ({"sandbox_id": "0" * 32}, "404"),
    ):
        with raises(httpx.HTTPStatusError, status):
            OpenHandsCloudWorkspace(**{"cloud_api_url": app.url, "cloud_api_key": app.key, **more})
    equal(app.ask("GET", "/api/v1/sandboxes/search")["items"], [])
