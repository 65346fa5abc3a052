"""OpenHands' APIRemoteWorkspace against `deft runtime-api`, with both of its sandboxes, and DockerWorkspace with an
image that holds Deft."""

import json
import os
import resource
import shutil
import subprocess
import sys
import urllib.request
import uuid
from pathlib import Path

from harness import contains, equal, raises, say, scenario
from processes import Process, await_line

from openhands.sdk.workspace import RemoteWorkspace
from openhands.workspace import APIRemoteWorkspace

API_KEY = "interop-runtime-api-key"
IMAGE = "deft-test-busybox:1"  # make deps


class RuntimeAPI:
    """A `deft runtime-api`, which ends with its scenario."""

    def __init__(self, t, *args, **env):
        folder = t.folder / "api"
        folder.mkdir(parents=True)
        self.env = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "DEFT_DATA": str(folder / "data"),
            "DEFT_RUNTIME_API_KEYS": API_KEY, **env,
        }
        self.process = Process([t.plan.deft, "runtime-api", "--port", "0", *args], folder / "log", self.env, folder)
        t.ends.append(self.process.end)
        self.url = await_line(self.process, r"runtime API on (http://\S+)")[1]

    def runtimes(self):
        request = urllib.request.Request(self.url + "/list", headers={"X-API-Key": API_KEY})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["runtimes"]

    def workspace(self, server_image=IMAGE, **more):
        return APIRemoteWorkspace(
            runtime_api_url=self.url + "/", runtime_api_key=API_KEY, server_image=server_image, **more
        )


def life(t, api, directory, **more):
    """What a script does with a workspace: commands, files, a conversation, and coming back."""
    ws = api.workspace(session_id="mine", working_dir=directory, keep_alive=True, forward_env=["INTEROP_FORWARDED"], **more)
    equal([r["session_id"] for r in api.runtimes()], ["mine"])
    equal(ws.execute_command(f"mkdir -p {directory}", cwd="/tmp").exit_code, 0)
    got = ws.execute_command("mkdir -p $PWD/deep && pwd && echo $INTEROP_FORWARDED", cwd=directory)
    equal((got.exit_code, got.stdout), (0, directory + "\nforwarded\n"), got.stderr)
    local = t.directory() / "up.txt"
    local.write_text("carried in\n")
    assert ws.file_upload(local, directory + "/deep/up.txt").success
    back = t.directory() / "down.txt"
    assert ws.file_download(directory + "/deep/up.txt", back).success
    equal(back.read_text(), "carried in\n")
    # A conversation, whose WebSocket goes through the Runtime API.
    c = t.conversation(t.agent([say("not reached")]), ws)
    equal(c.state.execution_status.value, "idle")
    key, host = ws.api_key, ws.host
    ws.pause()
    with raises(Exception, "503"):
        RemoteWorkspace(host=host, api_key=key, working_dir=directory).client.get("/api/conversations/search").raise_for_status()
    ws.resume()
    equal(ws.execute_command("cat deep/up.txt", cwd=directory).stdout, "carried in\n")
    with raises(Exception, "401"):
        RemoteWorkspace(host=host, api_key="wrong", working_dir=directory).client.get("/api/conversations/search").raise_for_status()
    ws.pause()
    again = api.workspace(session_id="mine", working_dir=directory, **more)  # resumes it
    equal((again.host, again.api_key), (host, key))
    equal(again.execute_command("cat deep/up.txt", cwd=directory).stdout, "carried in\n")
    again.cleanup()
    equal(api.runtimes(), [])


@scenario(reference=False, sandbox=False)
def runtime_api_of_processes(t):
    """APIRemoteWorkspace with a process sandbox."""
    os.environ["INTEROP_FORWARDED"] = "forwarded"
    api = RuntimeAPI(t, "--ignore", "image,image_pull_policy,run_as_user,fs_group,runtime_class")
    with raises(Exception, "401"):
        APIRemoteWorkspace(runtime_api_url=api.url, runtime_api_key="wrong", server_image=IMAGE)
    life(t, api, "/tmp/project")
    strict = RuntimeAPI(type("Other", (), {"folder": t.folder / "strict", "plan": t.plan, "ends": t.ends}))
    with raises(Exception, "501"):
        strict.workspace()


def docker_engine(t):
    """The address of a Docker engine, None if there is none."""
    engine = os.environ.get("DOCKER_HOST") or os.environ.get("INTEROP_DOCKER", "")
    if engine.startswith("unix://") and Path(engine.removeprefix("unix://")).exists():
        return engine
    if os.environ.get("CI") == "true":
        raise AssertionError("no Docker engine (make deps)")
    t.note("not run: no Docker engine (make deps)")
    return None


@scenario(reference=False, sandbox=False)
def runtime_api_of_containers(t):
    """APIRemoteWorkspace with containers, half of them from the pool."""
    engine = docker_engine(t)
    if engine is None:
        return
    os.environ["INTEROP_FORWARDED"] = "forwarded"
    pool = t.directory() / "pool.json"
    about = {"image": IMAGE, "image_pull_policy": "Never", "run_as_user": 10001, "fs_group": 10001, "size": 1}
    pool.write_text(json.dumps([about]))
    api = RuntimeAPI(t, "--sandbox", "docker", "--pool", str(pool), DOCKER_HOST=engine)
    life(t, api, "/workspace", runtime_class=None, image_pull_policy="Never")
    with raises(Exception, "501"):  # its default class is one that this engine does not have
        api.workspace(image_pull_policy="Never")
    contains(str(api.runtimes()), "[]")


@scenario(reference=False, sandbox=False)
def docker_workspace(t):
    """DockerWorkspace with an image that has our binary where that of OpenHands has its server."""
    engine = docker_engine(t)
    if engine is None:
        return
    name = "deft-interop-" + uuid.uuid4().hex
    env = {"PATH": os.environ["PATH"], "HOME": str(t.folder), "DOCKER_HOST": engine}

    def docker(*args):
        done = subprocess.run(["docker", *args], env=env, capture_output=True, text=True)
        equal(done.returncode, 0, done.stderr)
        return done.stdout

    context = t.directory()
    shutil.copy(t.plan.deft, context / "deft")
    (context / "Dockerfile").write_text(
        f'FROM {IMAGE}\nCOPY deft /deft\nRUN mkdir /workspace\nWORKDIR /workspace\nENTRYPOINT ["/deft", "agent-server"]\n'
    )
    docker("build", "--network", "none", "-t", name, str(context))
    t.ends.append(lambda: docker("rmi", "-f", name))
    docker("network", "create", name)
    t.ends.append(lambda: docker("network", "rm", name))
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if 0 <= limit < 65536:
        # The client asks for more open files than this machine grants a container.
        t.note(f"without the client's --ulimit: this machine allows {limit} open files")
        bin = t.directory()
        (bin / "docker").write_text(
            "#!/bin/bash\nargs=()\nfor a; do [[ $a == --ulimit || $a == nofile=* ]] || args+=(\"$a\"); done\n"
            f'exec {shutil.which("docker")} "${{args[@]}}"\n'
        )
        (bin / "docker").chmod(0o755)
        env["PATH"] = f"{bin}:{env['PATH']}"
    env["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no network at import: its retry races with the import
    env["OH_SESSION_API_KEYS_0"] = "interop-key-of-the-image"
    script = Path(__file__).with_name("docker_workspace.py")
    done = subprocess.run(
        [sys.executable, "-B", str(script), name, name, str(t.directory())], env=env, capture_output=True, text=True, timeout=300
    )
    equal(done.returncode, 0, done.stdout + done.stderr)
    contains(done.stdout, "0 /workspace\n")
    contains(done.stdout, "/deft agent-server --host 0.0.0.0 --port 8000")
    contains(done.stdout, "\ncarried in\n")
    contains(done.stdout, "after the pause: carried in\n")
    contains(done.stdout, "with a wrong key: 401")
    equal(docker("ps", "-aq", "--filter", f"ancestor={name}"), "")
