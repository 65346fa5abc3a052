"""The processes that scenarios talk to: agent servers and scripted LLMs."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import httpx

KEY = "interop-session-key"


running = []  # all processes that were started


def kill_all():
    """Kill the processes of scenarios that took too long."""
    for p in running:
        if p.popen.poll() is None:
            p.popen.kill()


class Process:
    """A process with its output in a file. It is in our process group, so whoever
    ends us can end it too."""

    def __init__(self, argv, log, env, cwd):
        self.log = log
        self.out = open(log, "ab")
        self.popen = subprocess.Popen(
            argv, stdout=self.out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            env=env, cwd=cwd,
        )
        running.append(self)

    def end(self, sig=signal.SIGTERM, timeout=120):
        """Send a signal and wait; kill the process if it does not end."""
        if self.popen.poll() is None:
            self.popen.send_signal(sig)
            try:
                self.popen.wait(timeout)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()
                raise AssertionError(f"process did not end after signal {sig}") from None
        self.out.close()
        return self.popen.returncode


def await_line(process, pattern, seconds=180.0):
    """Wait until the log of a process matches, and return the match."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := re.search(pattern, Path(process.log).read_text(errors="replace")):
            return found
        if process.popen.poll() is not None:
            break
        time.sleep(0.005)
    raise AssertionError(f"no {pattern!r} in:\n{Path(process.log).read_text(errors='replace')}")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class ScriptedLLM:
    """An LLM that answers from a script."""

    def __init__(self, deft, folder, script):
        folder.mkdir(parents=True)
        path = folder / "script.yaml"
        path.write_text(json.dumps(script))
        self.process = Process(
            [deft, "dev", "scripted-llm", str(path), "--addr", "127.0.0.1:0"],
            folder / "log", dict(os.environ), folder,
        )
        self.url = await_line(self.process, r"listening on (http://\S+)")[1]

    def end(self):
        self.process.end()


class Server:
    """An agent server, Deft's or the reference's."""

    def __init__(self, plan, folder, extra_env=None, args=()):
        self.plan, self.folder, self.args = plan, folder, list(args)
        self.port, self.starts, self.process = 0, 0, None
        self.env = {
            "PATH": os.environ["PATH"], "HOME": str(folder / "home"), "LANG": "C.UTF-8",
            "OH_PERSISTENCE_DIR": str(folder / "persistence"),
            "OH_CONVERSATIONS_PATH": str(folder / "conversations"),
            "OH_BASH_EVENTS_DIR": str(folder / "bash_events"),
            "OH_SESSION_API_KEYS_0": KEY, "OH_SECRET_KEY": "interop-secret-key",
            "OH_ENABLE_VSCODE": "false", "OH_PRELOAD_TOOLS": "false",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENHANDS_SUPPRESS_BANNER": "1",
            **(extra_env or {}),
        }
        (folder / "home").mkdir(parents=True)
        self.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        """Start the server, on its earlier port if there was one."""
        self.starts += 1
        self.port = self.port or free_port()
        argv = [self.plan.deft, "agent-server"]
        if self.plan.reference:
            argv = [self.plan.reference, "-m", "openhands.agent_server"]
        elif self.plan.sandbox != "none":
            argv += ["--sandbox", self.plan.sandbox]
        self.process = Process(
            [*argv, "--host", "127.0.0.1", "--port", str(self.port), *self.args],
            self.folder / f"server{self.starts}.log", self.env, self.folder,
        )
        self.await_health()

    def await_health(self):
        end = time.monotonic() + 300  # the reference may be slow on a busy machine
        while time.monotonic() < end and self.process.popen.poll() is None:
            try:
                if httpx.get(self.url + "/health", timeout=60).status_code < 500:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.01)
        raise AssertionError("the server did not start:\n" + self.log())

    def log(self):
        """The last lines of the server's output."""
        text = Path(self.process.log).read_text(errors="replace")
        return "\n".join(text.splitlines()[-40:])

    def kill(self):
        self.process.end(signal.SIGKILL)

    def stop(self):
        self.process.end(signal.SIGTERM)

    def clear(self):
        """Delete all conversations: their sandboxes outlive a server by minutes."""
        if self.plan.sandbox == "none" or self.process.popen.poll() is not None:
            return
        with httpx.Client(base_url=self.url, headers={"X-Session-API-Key": KEY}, timeout=180) as c:
            for item in c.get("/api/conversations/search", params={"limit": 100}).json()["items"]:
                c.delete(f"/api/conversations/{item['id']}")


class Proxy:
    """Forwards connections to a server; the connections can be cut."""

    def __init__(self, port):
        self.target = port
        self.lock = threading.Lock()
        self.pairs, self.closed = [], False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                if self.closed:
                    return
                near.close()
                continue
            with self.lock:
                self.pairs.append((near, far))
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(a, b), daemon=True).start()

    @staticmethod
    def _pump(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
        except OSError:
            pass
        finally:
            for s in (a, b):
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def cut(self):
        """Cut all connections."""
        with self.lock:
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for s in pair:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        return len(pairs)

    def end(self):
        self.closed = True
        self.listener.close()
        self.cut()
