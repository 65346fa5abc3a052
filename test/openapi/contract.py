"""Writes spec/contract.jsonl: the documents of the reference that settings,
profiles and requests are made of.

    python contract.py ../../spec/contract.jsonl

Run it with the Python of the reference (make deps). Each line is the name of a
schema, a tab, and the schema as JSON with its fields in the order of the
reference. Prose is left out; what a settings page says is in
spec/descriptions.txt.
"""
import contextlib
import json
import os
import sys

# Schemas that Go code names, beside those that they refer to.
ROOTS = """
StartConversationRequest UpdateConversationRequest ForkConversationRequest StartChildConversationRequest
StartGoalRequest AskAgentRequest UpdateSecretsRequest SetConfirmationPolicyRequest SetSecurityAnalyzerRequest
ConfirmationResponseRequest ACPAgent ACPAgentProfile ACPAgentSettings OpenHandsAgentProfile
OpenHandsAgentSettings ConversationSettings VerificationSettings MetaProfile ProviderConnection
ProviderConnectionCreateRequest ProviderConnectionUpdateRequest SettingsUpdateRequest MCPServerPatch
SaveProfileRequest RenameProfileRequest SecretCreateRequest MaterializeAgentProfileRequest WorkspaceItem
WorkspaceParentItem SubscriptionDevicePollRequest SkillsRequest InstallSkillRequest UpdateSkillStateRequest PluginsRequest
FetchPluginRequest HooksRequest SubAgentsRequest ExecuteBashRequest MCPOAuthCallbackRequest
InstallCanvasExtensionRequest NavigateConversationRequest OpenAIChatCompletionRequest OpenAIResponseRequest
MCPTestRequest ACPModelDiscoveryRequest UpdateCanvasExtensionStateRequest BackendRevisionRequest
""".split()

# What Deft reads without a schema: critics it has none of, and tools' annotations.
OPAQUE = {"CriticBase", "ToolAnnotations", "TraceMetadataValue", "MCPConfigPatch", "FallbackStrategy"}

# Classes with fields that no document has; of these only settings are kept.
PARTIAL = {"ConversationSettings"}

KEPT = {
    "type", "properties", "required", "additionalProperties", "items", "anyOf", "oneOf", "discriminator", "$ref", "enum", "const",
    "default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern", "format",
}
PREFIX = "#/components/schemas/"


def plain(ref):
    """Returns the name of a schema without what FastAPI adds to it."""
    return ref.removeprefix(PREFIX).removesuffix("-Input")


def trim(node, found):
    """Returns the facts of a schema; the names that it refers to go to found."""
    if not isinstance(node, dict):
        return node
    if plain(node.get("$ref", "")) in OPAQUE:
        return {}
    out = {}
    for key, value in node.items():
        if key == "openhands_settings":
            if value.get("variant") != "acp" or "openhands_settings_section" in node:  # else the other agent's page has it
                out["page"] = {k: v for k, v in value.items() if k in ("label", "prominence", "depends_on") and v}
        elif key not in KEPT:
            continue
        elif key == "properties":
            out[key] = {name: trim(one, found) for name, one in value.items()}
        elif key in ("anyOf", "oneOf"):
            out[key] = [trim(one, found) for one in value]
        elif key in ("items", "additionalProperties"):
            out[key] = trim(value, found)
        elif key == "discriminator":
            out[key] = value["propertyName"]
        elif key == "$ref":
            out[key] = plain(value)
            found.append(out[key])
        else:
            out[key] = value
    return out


def schemas():
    """Returns all schemas of the reference by their names."""
    from openhands.agent_server.api import create_app
    from openhands.agent_server.config import Config
    from openhands.sdk.agent import ACPAgent, Agent
    from openhands.sdk.llm.provider_connection_store import ProviderConnection
    from openhands.sdk.settings import model

    known = create_app(Config()).openapi()["components"]["schemas"]
    for name, cls in {"Agent-Input": Agent, "ACPAgent-Input": ACPAgent}.items():
        add_lists(known[name], cls)
    settings = (model.OpenHandsAgentSettings, model.ACPAgentSettings, model.ConversationSettings, model.VerificationSettings)
    for cls in (*settings, ProviderConnection):
        one = cls.model_json_schema(ref_template=PREFIX + "{model}")
        for name, definition in one.pop("$defs", {}).items():
            known.setdefault(name, definition)
        add_lists(one, cls)
        known[cls.__name__] = one
    return known


def add_lists(schema, cls):
    """Adds defaults that are lists and that a function makes."""
    from pydantic_core import to_jsonable_python

    for name, field in cls.model_fields.items():
        if name in schema["properties"] and field.default_factory:
            value = to_jsonable_python(field.get_default(call_default_factory=True))
            if value and isinstance(value, list):
                schema["properties"][name]["default"] = value


def main():
    with contextlib.redirect_stdout(sys.stderr):
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        known = schemas()
    lines, todo = {}, list(ROOTS)
    while todo:
        name = todo.pop()
        if name in lines:
            continue
        one = known.get(name + "-Input", known.get(name))
        if name in PARTIAL:
            fields = {k: v for k, v in one["properties"].items() if "openhands_settings" in v or k == "schema_version"}
            one = one | {"properties": fields}
        lines[name] = json.dumps(trim(one, todo), separators=(",", ":"))
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        for name in sorted(lines):
            out.write(f"{name}\t{lines[name]}\n")


main()
