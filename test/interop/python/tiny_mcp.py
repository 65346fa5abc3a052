"""A tiny MCP server over stdio, without a library: it adds numbers and returns a
variable of its environment."""

import json
import os
import sys

TOOLS = [
    {
        "name": "add", "description": "Add two numbers.",
        "inputSchema": {
            "type": "object", "required": ["a", "b"],
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        },
    },
    {"name": "tell", "description": "Tell the value of GREETING.", "inputSchema": {"type": "object", "properties": {}}},
]


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "tiny", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        a = params.get("arguments") or {}
        text = str(a["a"] + a["b"]) if params["name"] == "add" else os.environ.get("GREETING", "none")
        return {"content": [{"type": "text", "text": text}], "isError": False}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request and "method" in request:
        reply = {"jsonrpc": "2.0", "id": request["id"], "result": answer(request["method"], request.get("params") or {})}
        print(json.dumps(reply), flush=True)
