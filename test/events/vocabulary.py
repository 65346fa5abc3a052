"""The reference's vocabulary: every concrete Event, Action and Observation class.

All modules of openhands.sdk and openhands.tools are imported to find every
subclass. The program ends if a module cannot be imported, because its kinds would
be missing silently.
"""

import importlib
import os
import pkgutil
import sys

os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no network at import

import openhands.sdk  # noqa: E402
import openhands.tools  # noqa: E402
from openhands.sdk.event import Event  # noqa: E402
from openhands.sdk.tool.schema import Action, Observation  # noqa: E402
from openhands.sdk.utils.models import get_known_concrete_subclasses  # noqa: E402

UNIONS = {"event": Event, "action": Action, "observation": Observation}


def _import_all(package):
    failed = []
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        try:
            importlib.import_module(module.name)
        except Exception as error:
            failed.append(f"{module.name}: {type(error).__name__}: {error}")
    if failed:
        sys.exit("modules of the reference cannot be imported:\n" + "\n".join(failed))


_import_all(openhands.sdk)
_import_all(openhands.tools)


def kinds():
    """Return {kind: (union name, class)} for everything the reference can decode."""
    found = {}
    for union, base in UNIONS.items():
        for cls in get_known_concrete_subclasses(base):
            if cls.__name__ in found:
                sys.exit(f"kind {cls.__name__} exists twice")
            found[cls.__name__] = (union, cls)
    return found
