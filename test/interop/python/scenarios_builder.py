"""The client of /build, /build_status and /image_exists of OpenHands' V0 against `deft runtime-api`."""

import json
import subprocess
import sys
import urllib.request
import uuid
from pathlib import Path

from harness import contains, equal, scenario
from scenarios_runtime_api import API_KEY, IMAGE, RuntimeAPI, docker_engine

SITE = Path(sys.prefix).parent / "openhands-ai-0.62"  # make deps


def build(api, context, tags, key=API_KEY):
    script = Path(__file__).with_name("remote_builder.py")
    return subprocess.run(
        [sys.executable, "-B", str(script), str(SITE), api.url, key, str(context), *tags], capture_output=True, text=True, timeout=300
    )


@scenario(reference=False, sandbox=False)
def remote_runtime_builder(t):
    """RemoteRuntimeBuilder builds an image, which containers start from, and says why one cannot be built."""
    engine = docker_engine(t)
    if engine is None:
        return
    if not (SITE / "openhands").is_dir():
        raise AssertionError(f"openhands-ai is not in {SITE} (make deps)")
    api = RuntimeAPI(t, "--sandbox", "docker", DOCKER_HOST=engine)
    request = urllib.request.Request(api.url + "/registry_prefix", headers={"X-API-Key": API_KEY})
    with urllib.request.urlopen(request) as answer:
        prefix = json.load(answer)["registry_prefix"]
    name = uuid.uuid4().hex
    tags = [f"{prefix}/runtime:{name}", f"{prefix}/runtime:{name}-source"]
    t.ends.append(lambda: subprocess.run(["docker", "rmi", "-f", *tags], env=api.env, capture_output=True, text=True))
    context = t.directory()
    (context / "code").mkdir()
    (context / "code" / "file").write_text("of the context\n")
    (context / "Dockerfile").write_text(f"FROM {IMAGE}\nCOPY code /openhands/code\nRUN echo made >/made\n")
    done = build(api, context, tags)
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, "before: False\n")
    contains(done.stdout, f"image: {tags[0]}\n")
    contains(done.stdout, "after: [True, True]\n")
    ws = api.workspace(server_image=tags[0], image_pull_policy="Never", runtime_class=None)
    equal(ws.execute_command("cat /openhands/code/file /made", cwd="/").stdout, "of the context\nmade\n")
    ws.cleanup()
    (context / "Dockerfile").write_text(f"FROM {IMAGE}\nRUN echo why it failed; exit 3\n")
    done = build(api, context, [f"{prefix}/runtime:{name}-fails"])
    contains(done.stderr, "AgentRuntimeBuildError")
    contains(done.stderr, "why it failed")
    contains(build(api, context, tags, key="wrong").stderr, "401")
