"""Generates server/agentserver/openapi/contract.json.gz from the reference's
OpenAPI document: names, types and statuses without descriptions.

    python strip.py agent-server.json ../../server/agentserver/openapi/contract.json.gz

The reference serves the document at /openapi.json.
"""
import gzip
import json
import sys

PROSE = {"description", "title", "summary", "examples", "example", "openhands_settings", "openhands_settings_section"}
NAMED = {"properties", "schemas", "patternProperties", "mapping", "paths", "responses", "headers"}


def strip(node, named=False):
    """Returns node without descriptions. The keys of a named node are names."""
    if isinstance(node, list):
        return [strip(n) for n in node]
    if not isinstance(node, dict):
        return node
    out = {}
    for key, value in node.items():
        if not named and (key in PROSE or key.startswith("x-")):
            continue
        if key == "default" and not named:
            if isinstance(value, str) and " " in value:
                continue  # a text, not a value
            out[key] = value
            continue
        out[key] = strip(value, key in NAMED and not named)
    return out


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        doc = json.load(f)
    facts = strip({"paths": doc["paths"], "components": doc["components"]})
    raw = json.dumps(facts, separators=(",", ":"), sort_keys=True).encode()
    with open(sys.argv[2], "wb") as f:
        f.write(gzip.compress(raw, 9, mtime=0))
    print(len(raw), "bytes of facts")


main()
