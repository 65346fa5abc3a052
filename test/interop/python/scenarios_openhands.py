"""The App Server of openhands-ai 1.11.0, unmodified, with RUNTIME=remote: it starts its sandboxes by
`deft runtime-api`, with both kinds of them."""

import json
import os
import sys
from pathlib import Path

import httpx
from harness import TITLE, bash, contains, equal, eventually, finish, scenario
from processes import Process, await_line
from scenarios_runtime_api import API_KEY, RuntimeAPI, docker_engine

SITE = Path(sys.prefix).parent / "openhands-ai-1.11"  # make deps
GIT_IMAGE = "deft-test-git"  # test/hostimage


class OpenHands:
    """An App Server of OpenHands, which ends with its scenario."""

    def __init__(self, t, api, **env):
        if not (SITE / "openhands").is_dir():
            raise AssertionError(f"openhands-ai is not in {SITE} (make deps)")
        folder = t.folder / "openhands"
        folder.mkdir(parents=True)
        env = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(SITE), "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "RUNTIME": "remote", "SANDBOX_API_KEY": API_KEY, "SANDBOX_REMOTE_RUNTIME_API_URL": api.url,
            "OH_PERSISTENCE_DIR": str(folder / "data"), **env,
        }
        self.process = Process(
            [sys.executable, "-B", "-m", "uvicorn", "--host", "127.0.0.1", "--port", "0", "openhands.app_server.app:app"],
            folder / "log", env, folder,
        )
        t.ends.append(self.process.end)
        self.client = httpx.Client(base_url=await_line(self.process, r"Uvicorn running on (http://\S+)")[1], timeout=180)
        t.ends.append(self.client.close)

    def ask(self, method, path, **more):
        r = self.client.request(method, path, **more)
        assert r.status_code < 300, f"{method} {path}: {r.status_code} {r.text[:500]}\n{Path(self.process.log).read_text()[-3000:]}"
        return r.json() if r.content else None


def conversation(t, api, app, program):
    """A conversation in a new sandbox, from its start to the end of the sandbox. Nothing outside of that is reached, so
    its model is in it, too: program is Deft's there."""
    box = app.ask("POST", "/api/v1/sandboxes")["id"]

    def sandbox(status):
        found = app.ask("GET", "/api/v1/sandboxes", params={"id": box})[0]
        if found is None:  # the App Server could not ask in its time
            return None
        assert found["status"] != "ERROR", f"{found}\n{Path(api.process.log).read_text()[-2000:]}"
        return found if found["status"] == status else None

    eventually(lambda: sandbox("RUNNING"), "the start of the sandbox")
    made = sandbox("RUNNING")
    server = next(url["url"] for url in made["exposed_urls"] if url["name"] == "AGENT_SERVER")
    inside = httpx.Client(base_url=server, headers={"X-Session-API-Key": made["session_api_key"]}, timeout=180)
    t.ends.append(inside.close)

    def ask(method, path, **more):
        r = inside.request(method, path, **more)
        assert r.status_code < 300, f"{method} {path}: {r.status_code} {r.text[:500]}"
        return r.json()

    turns = [TITLE, bash("pwd; echo from-the-sandbox > made.txt; cat made.txt"), finish("It is done.")]
    ask("POST", "/api/file/upload", params={"path": "/workspace/llm.yaml"}, files={"file": json.dumps({"turns": turns})})
    ask("POST", "/api/bash/start_bash_command", json={"command": f"{program} dev scripted-llm /workspace/llm.yaml", "timeout": 600})
    app.ask("POST", "/api/v1/settings", json={"agent_settings_diff": {
        "llm": {"model": "openai/scripted", "api_key": "sk-of-the-user", "base_url": "http://127.0.0.1:8181/v1"},
    }})
    text = {"role": "user", "content": [{"type": "text", "text": "Make a file."}]}
    task = app.ask("POST", "/api/v1/app-conversations", json={"initial_message": text, "sandbox_id": box})

    def started():
        now = app.ask("GET", "/api/v1/app-conversations/start-tasks", params={"ids": task["id"]})[0]
        assert now["status"] != "ERROR", f"{now}\n{Path(app.process.log).read_text()[-3000:]}\n{Path(api.process.log).read_text()[-2000:]}"
        return now["app_conversation_id"] if now["status"] == "READY" else None

    eventually(started, "the start of the conversation")
    one = started()
    shown = app.ask("GET", "/api/v1/app-conversations", params={"ids": one})[0]
    equal((shown["sandbox_id"], shown["sandbox_status"], len(api.runtimes())), (box, "RUNNING", 1))
    equal(shown["conversation_url"], f"{server}/api/conversations/{one}")

    def events():
        return ask("GET", f"/api/conversations/{one}/events/search", params={"limit": 100})["items"]

    def ended():
        status = ask("GET", f"/api/conversations/{one}")["execution_status"]
        assert status in ("idle", "running", "finished"), f"{status}: {events()[-3:]}"
        return status == "finished"

    eventually(ended, "the end of the run")
    for part in ("/workspace/project", "from-the-sandbox", "It is done."):
        contains(str(events()), part)
    for act, status in (("pause", "PAUSED"), ("resume", "RUNNING")):
        app.ask("POST", f"/api/v1/sandboxes/{box}/{act}")
        eventually(lambda status=status: sandbox(status), act)
    app.ask("DELETE", f"/api/v1/sandboxes/{box}", params={"sandbox_id": box})
    equal(api.runtimes(), [])


@scenario(reference=False, sandbox=False)
def openhands_with_processes(t):
    """A conversation of OpenHands' App Server in a process sandbox."""
    api = RuntimeAPI(t, "--ignore", "image,run_as_user,run_as_group,fs_group")
    conversation(t, api, OpenHands(t, api), t.plan.deft)


@scenario(reference=False, sandbox=False)
def openhands_with_containers(t):
    """A conversation of OpenHands' App Server in a container."""
    engine = docker_engine(t)
    if engine is None:
        return
    api = RuntimeAPI(t, "--sandbox", "docker", DOCKER_HOST=engine)
    conversation(t, api, OpenHands(t, api, AGENT_SERVER_IMAGE_REPOSITORY=GIT_IMAGE, AGENT_SERVER_IMAGE_TAG="1"), "/.deft/deft")
