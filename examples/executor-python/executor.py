#!/usr/bin/env python3
"""An executor program for Deft: the agent gets a tool that queries SQLite files.

    deft run --executor exec:examples/executor-python/executor.py "which customer in shop.db spent most?"

docs/executors.md describes the protocol. Only messages may go to standard output;
print everything else to standard error.
"""

import json
import os
import sqlite3
import sys
import threading

MAX_ROWS = 200

TOOL = {
    "name": "sql_query",
    "description": "Runs one SQL statement on a SQLite file of the workspace and returns the rows.",
    "parameters": {
        "type": "object",
        "properties": {
            "file": {"type": "string", "description": "The file, relative to the workspace."},
            "sql": {"type": "string", "description": "One SQL statement."},
        },
        "required": ["file", "sql"],
    },
}

output = threading.Lock()
workspace = None
interrupted = {}  # events by the id of a running action


def send(message):
    with output:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def init(params):
    """The init hook. Its answer says which tools and kinds of actions there are."""
    global workspace
    workspace = os.path.realpath(params["workspace"])
    return {"protocol": 1, "tools": [TOOL]}


def execute(request, params):
    """Runs one action and answers its request."""
    action = params["action"]
    try:
        text, failed = query(params["id"], action["file"], action["sql"]), False
    except (OSError, sqlite3.Error, KeyError) as e:
        text, failed = f"{type(e).__name__}: {e}", True
    del interrupted[params["id"]]
    content = [{"type": "text", "text": text}]
    send({"id": request, "result": {"observation": {"content": content, "is_error": failed}}})


def query(action_id, file, sql):
    path = os.path.realpath(os.path.join(workspace, file))
    if os.path.commonpath([workspace, path]) != workspace:
        raise OSError("the file is outside of the workspace")
    connection = sqlite3.connect(path)
    # SQLite asks every 10,000 steps whether to stop.
    connection.set_progress_handler(interrupted[action_id].is_set, 10_000)
    try:
        with connection:
            cursor = connection.execute(sql)
            names = [column[0] for column in cursor.description or []]
            rows = cursor.fetchmany(MAX_ROWS)
            changed = cursor.rowcount
            send({"method": "progress", "params": {"id": action_id, "text": f"{len(rows)} rows\n"}})
    finally:
        connection.close()
    if not names:
        return f"{max(changed, 0)} rows changed"
    return "\n".join("\t".join(map(str, row)) for row in [names, *rows])


def main():
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message["method"], message.get("params", {})
        if method == "init":
            send({"id": message["id"], "result": init(params)})
        elif method == "execute":
            interrupted[params["id"]] = threading.Event()
            threading.Thread(target=execute, args=(message["id"], params)).start()
        elif method == "interrupt":
            event = interrupted.get(params["id"])
            if event:
                event.set()
        elif method == "close":
            send({"id": message["id"], "result": {}})
            return
        else:
            send({"id": message.get("id"), "error": {"message": f"there is no method {method}"}})


if __name__ == "__main__":
    main()
