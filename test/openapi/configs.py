"""Prints as JSON how the reference reads configurations: for each case the
variables, the file, and the settings that differ from the defaults.

    python configs.py > ../../server/agentserver/config/testdata/reference.json

Needs a Python with openhands-agent-server 1.58. Cases in which the reference fails
are left out, and so is max_concurrent_runs, whose default differs.
"""
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no network at import
os.environ["OPENHANDS_SUPPRESS_BANNER"] = "1"
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
from openhands.agent_server.config import load_config  # noqa: E402

VARIABLES = [
    {"OH_SESSION_API_KEYS_0": "a", "OH_SESSION_API_KEYS_1": "b"},
    {"OH_SESSION_API_KEYS": '["a","b"]'},
    {"OH_SESSION_API_KEYS": "2", "OH_SESSION_API_KEYS_0": "x", "OH_SESSION_API_KEYS_1": "y"},
    {"OH_SESSION_API_KEYS_0": ""},
    {"OH_WEBHOOKS_0_BASE_URL": "http://a", "OH_WEBHOOKS_0_HEADERS": '{"k":"v"}', "OH_WEBHOOKS_0_FLUSH_DELAY": "1.5"},
    {"OH_WEBHOOKS": '[{"base_url":"http://a"}]', "OH_WEBHOOKS_0_EVENT_BUFFER_SIZE": "9"},
    {"OH_WEBHOOKS": "1", "OH_WEBHOOKS_0_NUM_RETRIES": "0"},
    {"SESSION_API_KEY": "old"},
    {"SESSION_API_KEY": "old", "OH_SESSION_API_KEYS_0": "new"},
    {"OH_SECRET_KEY": " ", "OH_SESSION_API_KEYS_0": "new"},
    {"OH_SECRET_KEY": "s"},
    {"OH_PREVIOUS_SECRET_KEYS": '["p"]'},
    {"OH_DEFERRED_INIT": "true"},
    {"OH_DEFERRED_INIT": "yes"},
    {"OH_PRELOAD_TOOLS": "0"},
    {"OH_BASH_EVENTS_RETENTION_SECONDS": "5"},
    {"OH_CONVERSATION_IDLE_TTL_SECONDS_IS_NONE": "1"},
    {"OH_WEB_URL": "http://x/y"},
    {"OH_WEB_URL_IS_NONE": "TRUE"},
    {"OH_ALLOW_CORS_ORIGINS": '["http://q"]'},
    {"OH_TELEMETRY_EXPORTER": "http", "OH_TELEMETRY_HTTP_ENDPOINT": "http://t"},
    {"OH_TELEMETRY": '{"max_queue_size":3}'},
    {"OH_REGISTERED_MARKETPLACES": '[{"name":"n","source":"s","auto_load":["x"]}]'},
    {"OH_CONVERSATION_CONTAINER_CPUS_IS_NONE": "1"},
    {},
]
FILES = [
    {},
    {
        "session_api_keys": ["f"],
        "webhooks": [{"base_url": "http://f", "headers": {"a": "b"}}],
        "conversation_idle_ttl_seconds": 7,
        "web_url": "http://file",
        "deferred_init": False,
        "allow_cors_origins": ["http://o"],
        "vscode_port": "9",
    },
]


def load(variables, settings):
    for name in list(os.environ):
        if name.startswith("OH_") or name == "SESSION_API_KEY":
            del os.environ[name]
    os.environ.update(variables)
    with tempfile.TemporaryDirectory() as tmp:
        path = Path(tmp) / "config.json"
        path.write_text(json.dumps(settings))
        config = load_config(path)
    got = config.model_dump(mode="json")
    got["secret_key"] = config.secret_key.get_secret_value() if config.secret_key else ""
    got["previous_secret_keys"] = [k.get_secret_value() for k in config.previous_secret_keys]
    del got["max_concurrent_runs"]
    return got


cases, default = [], load({}, {})
for settings in FILES:
    for variables in VARIABLES:
        try:
            got = load(variables, settings)
        except Exception as e:
            print("left out:", variables, settings, type(e).__name__, file=sys.stderr)
            continue
        differs = {k: v for k, v in got.items() if v != default[k]}
        cases.append({"variables": variables, "file": settings, "differs": differs})
json.dump({"default": default, "cases": cases}, out, indent=1)
out.write("\n")
