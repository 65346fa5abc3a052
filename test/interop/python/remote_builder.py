"""Builds an image with the RemoteRuntimeBuilder of openhands-ai 0.62, unchanged.

    python remote_builder.py SITE URL KEY CONTEXT TAG...

SITE has openhands-ai without its dependencies, which need gigabytes. So these are stand-ins, all outside of what
is tried here: the __init__ files of the packages (that of openhands.runtime imports all runtimes, and with
them docker, kubernetes and google-cloud-storage), the logger, and shutdown_listener, which does not wait 30
seconds between two questions. The builder, its base class, send_request, HttpSession and the exceptions are OpenHands'.

Prints the name of the image, and what image_exists says before and after.
"""

import importlib
import logging
import sys
import time
import types


def stand_in(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    return module


site, url, key, context, *tags = sys.argv[1:]
for name in ("openhands", "openhands.core", "openhands.utils", "openhands.runtime", "openhands.runtime.utils", "openhands.runtime.builder"):
    stand_in(name).__path__ = [site + "/" + name.replace(".", "/")]
stand_in("openhands.core.logger", openhands_logger=logging.getLogger("openhands"))
stand_in(
    "openhands.utils.shutdown_listener",
    should_continue=lambda: True, should_exit=lambda: False, sleep_if_should_continue=lambda seconds: time.sleep(0.1),
)
sys.modules["openhands.runtime.builder"].RuntimeBuilder = importlib.import_module("openhands.runtime.builder.base").RuntimeBuilder
RemoteRuntimeBuilder = importlib.import_module("openhands.runtime.builder.remote").RemoteRuntimeBuilder

builder = RemoteRuntimeBuilder(url, key)
print("before:", builder.image_exists(tags[0]))
image = builder.build(context, tags)
print("image:", image)
print("after:", [builder.image_exists(tag) for tag in tags])
