"""The SDK's workspace methods: commands, files, git, settings."""

import subprocess

from harness import contains, equal, eventually, raises, say, scenario

import httpx
from openhands.sdk.git.models import GitChangeStatus


def git(directory, *args):
    env = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=Interop", "-c", "user.email=interop@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *args], cwd=directory, check=True, capture_output=True, env=env)


@scenario(sandbox=False)
def server_info(t):
    ws = t.workspace()
    assert ws.alive
    info = ws.get_server_info()
    assert tuple(map(int, info["version"].split(".")[:3])) >= (1, 28, 0), info["version"]
    contains(info["usable_tools"], "terminal")


@scenario(sandbox=False)
def commands(t):
    ws = t.workspace()
    r = ws.execute_command("echo out; echo err >&2; exit 4")
    equal((r.exit_code, r.stdout, r.stderr), (4, "out\n", "err\n"))
    r = ws.execute_command("pwd", cwd=str(t.directory("elsewhere")))
    equal(r.stdout.strip(), str(t.directory("elsewhere")))
    r = ws.execute_command("seq 1 20000")
    equal(r.stdout, "".join(f"{i}\n" for i in range(1, 20001)))
    r = ws.execute_command("sleep 20", timeout=1)
    equal(r.exit_code, -1)
    equal(ws.execute_command("printf 'ä→\\0x'").stdout, "ä→\0x")


@scenario(sandbox=False)
def commands_in_the_background(t):
    ws = t.workspace()
    cid = ws.start_command("echo begun; touch begun; sleep 600", cwd=ws.working_dir, timeout=900)
    eventually(lambda: (t.directory() / "begun").exists(), "the command runs")
    ws.stop_command(cid)
    eventually(lambda: (ws.get_command_output(cid) or {}).get("exit_code") is not None, "the command ends")
    last = ws.get_command_output(cid)
    equal((last["exit_code"], last["stdout"]), (-15, "begun\n"))


@scenario(sandbox=False)
def files(t):
    ws = t.workspace()
    source = t.directory("source") / "data.bin"
    source.write_bytes(bytes(range(256)) * 5000)
    to = f"{ws.working_dir}/deep/er/data.bin"
    up = ws.file_upload(str(source), to)
    assert up.success, up
    equal((t.directory() / "deep/er/data.bin").read_bytes(), source.read_bytes())
    back = t.directory("back") / "data.bin"
    down = ws.file_download(to, str(back))
    assert down.success, down
    equal(down.file_size, source.stat().st_size)
    equal(back.read_bytes(), source.read_bytes())
    assert ws.file_upload(b"some bytes", f"{ws.working_dir}/b.txt").success
    equal((t.directory() / "b.txt").read_bytes(), b"some bytes")
    assert not ws.file_download(f"{ws.working_dir}/lacks", str(back)).success


@scenario(sandbox=False)
def odd_file_names(t):
    ws = t.workspace()
    for name in ("with space.txt", "ümlaut.txt", "q?&#%.txt", "a+b.txt"):
        to = f"{ws.working_dir}/{name}"
        up = ws.file_upload(name.encode(), to)
        assert up.success, (name, up)
        equal((t.directory() / name).read_bytes(), name.encode())
        back = t.directory("back") / "f"
        assert ws.file_download(to, str(back)).success, name
        equal(back.read_bytes(), name.encode())


@scenario(sandbox=False)
def git_changes(t):
    ws, d = t.workspace(), t.directory()
    git(d, "init")
    (d / "kept.txt").write_text("one\n")
    (d / "gone.txt").write_text("x\n")
    git(d, "add", ".")
    git(d, "commit", "-m", "first")
    (d / "kept.txt").write_text("one\ntwo\n")
    new = "new ä.txt" if not t.plan.reference else "new.txt"  # the reference returns the name with git's quotes
    (d / new).write_text("new\n")
    (d / "gone.txt").unlink()
    changes = {str(c.path): c.status for c in ws.git_changes(str(d))}
    equal(changes, {
        "kept.txt": GitChangeStatus.UPDATED, new: GitChangeStatus.ADDED, "gone.txt": GitChangeStatus.DELETED,
    })
    diff = ws.git_diff(str(d / "kept.txt"))
    equal(((diff.original or "").strip(), (diff.modified or "").strip()), ("one", "one\ntwo"))
    equal(ws.git_diff(str(d / new)).original or "", "")


@scenario(sandbox=False)
def settings_and_profiles(t):
    ws = t.workspace()
    model = t.model_of("http://127.0.0.1:9", usage="x")
    body = {"llm": model.model_dump(mode="json", exclude_none=True, context={"expose_secrets": True}), "include_secrets": True}
    t.rest("POST", "/api/profiles/fast", json=body, status=201)
    got = ws.get_llm("fast")
    equal(got.model, "openai/scripted")
    equal(got.api_key.get_secret_value(), "llm-key-of-the-user")
    equal(got.usage_id, "profile:fast")
    equal(ws.get_llm("fast", temperature=0.5).temperature, 0.5)
    with raises(FileNotFoundError):
        ws.get_llm("slow")
    t.rest("POST", "/api/profiles/fast/activate", status=200)
    equal(ws.get_llm().usage_id, "profile:fast")
    diff = {"agent_settings_diff": {"mcp_config": {"tiny": {"command": "python3", "args": ["x.py"]}}}}
    t.rest("PATCH", "/api/settings", json=diff, status=200)
    servers = ws.get_mcp_config()
    equal(list(servers), ["tiny"])
    equal(servers["tiny"].command, "python3")
    t.rest("DELETE", "/api/profiles/fast", status=200)


@scenario(sandbox=False)
def stored_secrets(t):
    ws = t.workspace()
    t.rest("PUT", "/api/settings/secrets", json={"name": "A_SECRET", "value": "value-of-a", "description": "of a"}, status=200)
    found = ws.get_secrets()
    contains(found, "A_SECRET")
    equal(found["A_SECRET"].get_value(), "value-of-a")
    equal(ws._get_secret_value("A_SECRET"), "value-of-a")
    equal(ws._get_secret_value("NONE"), None)
    t.rest("DELETE", "/api/settings/secrets/A_SECRET", status=200)
    with raises(httpx.HTTPStatusError, "404"):
        found["A_SECRET"].get_value()


@scenario(sandbox=False)
def skills_of_a_project(t):
    ws, d = t.workspace(), t.directory()
    (d / "AGENTS.md").write_text("Always say please.\n")
    folder = d / ".agents" / "skills" / "greeting"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: greeting\ndescription: How to greet.\ntriggers: [hello]\n---\nSay moin.\n")
    skills, context = ws.load_skills_from_agent_server(load_public=False, load_org=False)
    names = {s.name for s in skills}
    contains(names, "greeting")
    contains(names, "agents")
    equal({s.name for s in context.skills} >= names, True)


@scenario(sandbox=False)
def clones_repositories(t):
    origin = t.directory("origin")
    git(origin, "init")
    (origin / "README").write_text("hi\n")
    git(origin, "add", ".")
    git(origin, "commit", "-m", "first")
    r = t.workspace().execute_command(f"git clone -q file://{origin} copy && cat copy/README")
    equal((r.exit_code, r.stdout), (0, "hi\n"))


@scenario(sandbox=False)
def workspace_of_a_conversation(t):
    """The routes of a conversation cannot leave its workspace."""
    c = t.conversation(t.agent([say("hi")]))
    (t.directory() / "page.html").write_text("<p>hello</p>")
    base = f"/api/conversations/{c.id}/workspace"
    r = t.rest("GET", base + "/page.html", status=200)
    contains(r.text, "hello")
    equal(t.rest("GET", base + "/../../../../../etc/passwd").status_code in (400, 403, 404), True)
    equal(t.rest("GET", base + "/page.html", key=None).status_code, 401)
    r = t.rest("POST", "/api/auth/workspace-session", status=204)
    cookies = dict(r.cookies)
    r = t.rest("GET", base + "/page.html", key=None, cookies=cookies, status=200)
    contains(r.text, "hello")
    r = t.rest("GET", f"/api/file/download-trajectory/{c.id}", status=200)
    equal(r.content[:2], b"PK")
