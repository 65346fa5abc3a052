"""Runs scenarios and prints the result of each as a line of JSON.

    python -B main.py --deft bin/deft [--sandbox process] [NAME...]
    python -B main.py --deft bin/deft --reference python-with-agent-server

The first line lists the names. One line per scenario follows, in the order in
which they end: name, ok, seconds, notes, and error if it failed.
"""

import argparse
import json
import logging
import os
import queue
import shutil
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no network at import
os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")
os.environ.setdefault("LOG_LEVEL", "ERROR")
sys.path.insert(0, str(Path(__file__).parent))

LIMIT = 400.0  # seconds for one scenario; twice that for the reference


# Libraries print too, so only our lines go to the real standard output.
report = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def say(**line):
    print(json.dumps(line), file=report, flush=True)


def run(plan, name, function, results):
    from harness import Case, timed_out

    timed_out.discard(threading.get_ident())
    case = Case(plan, name, function.own_server)
    start, error = time.monotonic(), ""
    try:
        function(case)
    except BaseException:  # any failure belongs to this scenario
        error = traceback.format_exc()
        if case._server is not None and case._server is not plan.shared:
            error += "\nserver:\n" + case._server.log()
    seconds = round(time.monotonic() - start, 2)
    try:
        case.close()
    except BaseException:
        error += traceback.format_exc()
    results.put({"name": name, "ok": not error, "seconds": seconds, "notes": case.notes, "error": error})


def work(plan, todo, results, started):
    while True:
        try:
            name, function = todo.get_nowait()
        except queue.Empty:
            return
        started[name] = time.monotonic()
        run(plan, name, function, results)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--deft", required=True)
    p.add_argument("--reference", default="")
    p.add_argument("--sandbox", default="none")
    p.add_argument("--workers", type=int, default=0, help="scenarios in parallel; default: processors, with a reference 2")
    p.add_argument("--keep", action="store_true", help="keep the folders of all scenarios")
    p.add_argument("names", nargs="*")
    a = p.parse_args()

    from harness import Plan, Server, watch_client_timeouts, scenarios
    from processes import kill_all
    import scenarios_control
    import scenarios_restart
    import scenarios_agents
    import scenarios_live
    import scenarios_builder
    import scenarios_openhands
    import scenarios_own_tools
    import scenarios_packages
    import scenarios_run
    import scenarios_runtime_api
    import scenarios_clients
    import scenarios_app_server
    import scenarios_state
    import scenarios_vscode
    import scenarios_workspace  # noqa: F401

    logging.getLogger("openhands").setLevel(logging.ERROR)
    watch_client_timeouts()
    root = Path(tempfile.mkdtemp(prefix="deft-interop-"))
    plan = Plan(os.path.abspath(a.deft), a.reference, a.sandbox, root)
    chosen = {
        n: f for n, f in scenarios.items()
        if (not a.names or n in a.names)
        and (f.on_reference or not a.reference) and (f.in_sandbox or a.sandbox == "none")
    }
    say(plan=list(chosen), folder=str(root))
    if a.reference:
        plan.shared = Server(plan, root / "shared")
    todo, results, started = queue.Queue(), queue.Queue(), {}
    for item in chosen.items():
        todo.put(item)
    for _ in range(a.workers or (2 if a.reference else max(2, os.cpu_count() or 2))):
        threading.Thread(target=work, args=(plan, todo, results, started), daemon=True).start()

    failed, left, limit = 0, set(chosen), LIMIT * (2 if a.reference else 1)
    while left:
        try:
            r = results.get(timeout=1)
        except queue.Empty:
            for n in [n for n in left if n in started and time.monotonic() - started[n] > limit]:
                left.discard(n)
                failed += 1
                stack = "".join(
                    "".join(traceback.format_stack(f)) + "\n" for f in sys._current_frames().values()
                    if any(fr.f_code is chosen[n].__code__ for fr, _ in traceback.walk_stack(f))
                )
                say(name=n, ok=False, seconds=limit, notes=[], error="took too long\n" + stack)
            continue
        if r["name"] in left:
            left.discard(r["name"])
            failed += not r["ok"]
            say(**r)
    if plan.shared:
        plan.shared.stop()
    kill_all()
    if not failed and not a.keep:
        shutil.rmtree(root, ignore_errors=True)
    os._exit(1 if failed else 0)  # do not wait for clients that are still connected


if __name__ == "__main__":
    main()
