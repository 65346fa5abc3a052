"""VS Code through the agent server's own routes."""

import os
import signal

import httpx
from harness import bash, contains, equal, say, scenario
from processes import free_port

# A program that is started like VS Code: it has that one's name, and says where it listens.
EDITOR = '''#!/usr/bin/env python3
import http.server, os, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/old"):
            self.send_response(302); self.send_header("Location", "http://" + self.headers["Host"] + "/new"); self.end_headers(); return
        self.send_response(200); self.end_headers()
        self.wfile.write("\\n".join([self.path, os.getcwd(), str(self.headers.get("X-Forwarded-Prefix")), str(self.headers.get("Cookie"))]).encode())
    def log_message(self, *a): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
open("pid", "w").write(str(os.getpid()))
print("HTTP server listening on http://127.0.0.1:%d/" % server.server_port, flush=True)
server.serve_forever()
'''


@scenario(own_server=True, reference=False)
def vs_code(t):
    """It starts when somebody asks for its address, which has a token and lasts."""
    bin, port = t.directory() / "bin", free_port()
    t.start_server(OH_ENABLE_VSCODE="true", OH_VSCODE_PORT=str(port), OH_VSCODE_BASE_PATH="/code", PATH=f"{bin}:{os.environ['PATH']}")
    contains(t.rest("GET", "/api/vscode/url", status=503).text, "there is no conversation")
    c = t.conversation(t.agent([bash("mkdir -p bin; printf '#!/bin/sh\\necho it lacks a library >&2; exit 2\\n' > bin/openvscode-server; chmod +x bin/openvscode-server"), say("ok")]))
    equal(t.rest("GET", "/api/vscode/status", status=200).json()["running"], False)
    t.run(c, "install it")
    contains(t.rest("GET", "/api/vscode/url", status=503).text, "openvscode-server did not start: it lacks a library")
    (bin / "openvscode-server").write_text(EDITOR)
    if t.plan.sandbox == "none":  # with a sandbox it ends, too
        t.ends.append(lambda: os.kill(int((t.directory() / "pid").read_text()), signal.SIGTERM))
    path = f"/api/conversations/{c.id}/vscode"
    equal(t.rest("GET", path + "/status", status=200).json(), {"running": False, "enabled": True, "message": None})
    url = t.rest("GET", "/api/vscode/url", status=200).json()["url"]
    equal(t.rest("GET", path + "/url", status=200).json()["url"], url)  # it runs already
    equal(t.rest("GET", path + "/status", status=200).json()["running"], True)
    start = f"http://localhost:{port}/code/"
    equal(url[: len(start)], start)
    at, folder = url.split("?folder=")
    got = httpx.get(at + "static/a%20b?x=1", headers={"Cookie": "mine=1"}, timeout=180)
    sent, cwd, prefix, cookie = got.text.split("\n")
    equal((sent, cookie, got.headers["referrer-policy"]), ("/static/a%20b?x=1", "mine=1", "no-referrer"))
    equal(start + prefix.removeprefix("/code/") + "/", at)
    equal(httpx.get(at + "old", timeout=180).headers["location"].removeprefix("//localhost:" + str(port)), prefix + "/new")
    outside = t.rest("GET", "/api/vscode/url?base_url=https://ide.example.com/", status=200).json()["url"]
    equal(outside, url.replace(f"http://localhost:{port}", "https://ide.example.com"))
    equal(t.rest("GET", "/api/vscode/url?workspace_dir=bin", status=200).json()["url"], at + "?folder=" + folder + "%2Fbin")
    t.rest("GET", "/api/vscode/url?workspace_dir=/etc", status=422)
    t.rest("GET", "/api/vscode/url?base_url=file:///etc", status=422)
    other = at[:-2] + ("0" if at[-2] != "0" else "1") + "/"
    for wrong in (other, start, f"http://localhost:{port}/", start + "1-2-3/", at.replace("/code/", "/")):
        equal(httpx.get(wrong, timeout=180).status_code, 404, wrong)
