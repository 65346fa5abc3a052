"""Write one golden file per event, action and observation kind.

Usage: python -B test/events/golden.py [directory]

Each file is a list of samples in the stored form (exclude_none): a minimal one, a
full one, one with false and 1 in all fields, and more for some kinds. Ids and
times are fixed, so a second run changes nothing. The reference reads each sample
back before it is written. The program fails if a concrete class is not covered.
"""

import inspect
import json
import pathlib
import sys
import types
import typing
from collections.abc import Sequence
from datetime import datetime
from enum import Enum

from pydantic import BaseModel

from vocabulary import UNIONS, kinds  # first: it silences and completes the imports of the reference

import variants  # isort: skip

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / "event" / "testdata" / "golden"

TEXT = 'line one\n<b>&amp;</b> "quoted" \\ tab\t\u2028 é 漢字 😀 \x1b[31mred\x1b[0m'


# Which fields of a sample are set: only the required ones, all, or all with false
# and 1 for booleans and integers.
MINIMAL, FULL, PLAIN = 0, 1, 2


def fill(annotation, name, full):
    """Return a plausible value for a field of the given type."""
    if full == PLAIN and annotation in (bool, int):
        return annotation(annotation is int)
    origin = typing.get_origin(annotation)
    args = typing.get_args(annotation)
    if origin is typing.Annotated:
        return fill(args[0], name, full)
    if origin in (typing.Union, types.UnionType):
        members = [a for a in args if a is not type(None)]
        return fill(members[0], name, full)
    if origin is typing.Literal:
        return args[-1] if full else args[0]
    if origin in (list, set, Sequence):
        return origin_of(origin)(values(args[0], name, full))
    if origin is tuple:
        return tuple(i + 1 for i in range(len(args)))
    if origin is dict:
        return {"first-key": fill(args[1], name, full)} if full else {}
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return build(annotation, full)
    if inspect.isclass(annotation) and issubclass(annotation, Enum):
        return list(annotation)[-1]
    return SCALARS[annotation](name)


SCALARS = {
    str: lambda name: f"{name}: {TEXT}" if name in variants.LONG else f"{name} value",
    bool: lambda name: True,
    int: lambda name: 7,
    float: lambda name: 0.5,
    dict: lambda name: variants.nested(),
    datetime: lambda name: datetime(2026, 11, 21, 12, 0, 0, 123456),
    typing.Any: lambda name: variants.nested(),
}


def origin_of(origin):
    return set if origin is set else list


def values(item, name, full):
    """Return list members: none for a minimal sample, one per union member else."""
    if not full:
        return []
    if typing.get_origin(item) in (typing.Union, types.UnionType):
        return [fill(member, name, full) for member in typing.get_args(item)]
    return [fill(item, f"{name} {i}", full) for i in (1, 2)]


def build(cls, full):
    """Return an instance of cls with its required or with all of its fields."""
    overrides = variants.FIELDS.get(cls.__name__, {})
    kwargs = {}
    for name, field in cls.model_fields.items():
        random = (cls.__name__, name) in variants.RANDOM
        if field.exclude or not (full or random or field.is_required()):
            continue
        if name in overrides:
            kwargs[name] = overrides[name](full)
        else:
            kwargs[name] = fill(field.annotation, name, full)
    return cls(**kwargs)


def stored(instance):
    """Return the instance's stored form, with sets in a stable order."""
    value = instance.model_dump(mode="json", exclude_none=True)
    for key, field in type(instance).model_fields.items():
        if typing.get_origin(field.annotation) is set and key in value:
            value[key] = sorted(value[key])
    return value


def samples(cls):
    """Yield the sample instances of one kind."""
    fixed = variants.event_base if issubclass(cls, UNIONS["event"]) else lambda n: {}
    made = [*(build(cls, level) for level in (MINIMAL, FULL, PLAIN)), *variants.more(cls)]
    for number, instance in enumerate(made):
        yield instance.model_copy(update=fixed(number))


def write(directory, kind, dumped):
    text = json.dumps(dumped, indent=2, ensure_ascii=False) + "\n"
    (directory / f"{kind}.json").write_text(text, encoding="utf-8")


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.mkdir(parents=True, exist_ok=True)
    known = kinds()
    for kind, (union, cls) in sorted(known.items()):
        dumped = []
        for sample in samples(cls):
            value = stored(sample)
            again = stored(UNIONS[union].model_validate(json.loads(json.dumps(value))))
            if again != value:
                sys.exit(f"{kind}: the reference reads back something else:\n{value}\n{again}")
            dumped.append(value)
        write(target, kind, dumped)
    stale = {p.stem for p in target.glob("*.json")} - set(known)
    if stale:
        sys.exit(f"golden files of kinds that do not exist: {sorted(stale)}")
    modules = {k: cls.__module__ for k, (union, cls) in sorted(known.items()) if union == "event"}
    (target.parent / "modules.json").write_text(json.dumps(modules, indent=2) + "\n")
    unknown = target.parent / "unknown"
    unknown.mkdir(exist_ok=True)
    # Last, because it adds a class to the action union.
    write(unknown, "ClientAction", [stored(e) for e in variants.client_tool_events()])
    print(f"{len(known)} kinds written to {target}")


if __name__ == "__main__":
    main()
