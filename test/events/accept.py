"""Validate events, actions and observations with the reference's models.

Usage: python -B test/events/accept.py < lines

Reads one JSON value per line and prints one verdict per line, in order:

    {"kind": "PauseEvent", "ok": true, "same": true, "whole": false}
    {"kind": "PauseEvent", "ok": false, "error": "…"}

"same" is true if the reference writes back the value that it read, "whole" if it
does so with nulls for missing fields, as in webhooks. The exit status is 1 if any
line was refused.
"""

import json
import sys

from vocabulary import UNIONS, kinds


def stored(instance):
    return instance.model_dump(mode="json", exclude_none=True)


def judge(line, known):
    """Return the verdict on one encoded value."""
    try:
        value = json.loads(line)
        kind = value["kind"]
    except (ValueError, TypeError, KeyError) as error:
        return {"kind": "", "ok": False, "error": f"{type(error).__name__}: {error}"}
    if kind not in known:
        return {"kind": kind, "ok": False, "error": "unknown kind"}
    union, _ = known[kind]
    try:
        instance = UNIONS[union].model_validate(value)
    except ValueError as error:
        return {"kind": kind, "ok": False, "error": str(error)}
    value, whole = ordered(value), instance.model_dump(mode="json")
    return {"kind": kind, "ok": True, "same": ordered(stored(instance)) == value, "whole": ordered(whole) == value}


def ordered(value):
    """Sort the one field that is a set."""
    if "forgotten_event_ids" in value:
        value = {**value, "forgotten_event_ids": sorted(value["forgotten_event_ids"])}
    return value


def main():
    known = kinds()
    refused = 0
    for line in sys.stdin:
        verdict = judge(line, known)
        refused += not verdict["ok"]
        print(json.dumps(verdict))
    sys.exit(1 if refused else 0)


if __name__ == "__main__":
    main()
