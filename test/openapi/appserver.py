"""Writes testdata/appserver.json: of OpenHands' documents the operations that
`deft serve` has, with their schemas and without prose.

    python appserver.py openhands-cloud.json V0_openapi.json ../../docs > testdata/appserver.json
    jq -cS 'del(.info, .openapi)' testdata/appserver.json | gzip -9n > ../../server/appserver/contract.json.gz

docs has the lists of operations, routes-v1.md, app-server.md and routes-v0.md.
"""
import json
import re
import sys

PROSE = {"writeOnly", "description", "summary", "title", "examples", "example", "tags", "operationId", "security", "deprecated"}
ROW = re.compile(r"^\| `([A-Z]+) (/[^`]*)` \| done \|", re.M)
# What the documents do not say: answers that are no JSON. And ids are not only
# UUIDs with hyphens, keys that are not shown are null, and one operation of the
# cloud names a parameter of its path wrongly.
BINARY = {"/api/conversations/{conversation_id}/zip-directory": "application/zip", "/api/v1/app-conversations/{conversation_id}/download": "application/octet-stream"}
WRONG = {("/api/v1/sandboxes/{id}", "delete")}

# Events, agents and models, which have tests of their own.
OPAQUE = re.compile(r"(Event|Agent|AgentBase|LLM|StrictLLM|Message)(-Input|-Output)?")
PREFIX = "#/components/schemas/"


def trim(node, names=False):
    """Returns a node without prose. The keys of names are names, not keywords."""
    if isinstance(node, list):
        return [trim(one) for one in node]
    if not isinstance(node, dict):
        return node
    if not names and node.get("format") == "uuid":
        node = {k: v for k, v in node.items() if k != "format"}
    return {
        k: trim(v, k in ("properties", "schemas", "$defs"))
        for k, v in node.items()
        if (names or k not in PROSE)
    }


def refer(node, found):
    """Adds the names of the schemas that a node refers to."""
    if isinstance(node, list):
        for one in node:
            refer(one, found)
    elif isinstance(node, dict):
        for k, v in node.items():
            if k == "$ref" and isinstance(v, str):
                found.append(v.removeprefix(PREFIX))
            refer(v, found)


def shape(path):
    return re.sub(r"\{[^}]*\}", "{}", path)


def main():
    cloud, first, docs = sys.argv[1:]
    out = {"openapi": "3.1.0", "info": {"title": "deft serve", "version": "1"}, "paths": {}, "components": {"schemas": {}}}
    for file, pages, prefix in ((cloud, ("routes-v1.md", "app-server.md"), ""), (first, ("routes-v0.md",), "V0")):
        with open(file, encoding="utf-8") as f:
            document = json.load(f)
        done = set()
        for page in pages:
            with open(f"{docs}/{page}", encoding="utf-8") as f:
                done |= {(m, shape(p)) for m, p in ROW.findall(f.read())}
        rename = lambda node: json.loads(json.dumps(node).replace(PREFIX, PREFIX + prefix))
        todo = []
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                if (path, method) in WRONG:
                    continue
                if (method.upper(), shape(path)) not in done or shape(path) in map(shape, out["paths"]) and path not in out["paths"]:
                    continue
                operation = trim(operation)
                if path in BINARY:
                    operation["responses"]["200"]["content"] = {BINARY[path]: {}}
                refer(operation, todo)
                out["paths"].setdefault(path, {})[method] = rename(operation)
        while todo:
            name = todo.pop()
            if prefix + name not in out["components"]["schemas"]:
                schema = {} if OPAQUE.fullmatch(name) else trim(document["components"]["schemas"][name])
                out["components"]["schemas"][prefix + name] = rename(schema)
                refer(schema, todo)
    json.dump(out, sys.stdout, separators=(",", ":"), sort_keys=True)
    sys.stdout.write("\n")


main()
