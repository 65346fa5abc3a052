package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/tomlfile"
)

// Sections of OpenHands' config.toml (OpenHands 0.62, config.template.toml). Those whose
// items have names of their own have sections such as [llm.draft].
var openHandsSections = []string{"core", "llm", "agent", "sandbox", "security", "condenser", "mcp", "kubernetes", "model_routing", "extended", "cli"}

// openHandsSettings are the keys of that file that Deft has settings for.
var openHandsSettings = map[string]string{
	"core.max_iterations":               "conversations.max_iterations",
	"core.max_budget_per_task":          "conversations.max_budget",
	"core.max_concurrent_conversations": "conversations.max_per_user",
	"core.search_api_key":               "conversations.search_api_key",
	"core.default_agent":                "classes.agent",
	"core.runtime_executor":             "classes.executor",
	"llm.model":                         "llm.model",
	"llm.api_key":                       "llm.api_key",
	"llm.base_url":                      "llm.base_url",
	"llm.api_version":                   "llm.api_version",
	"llm.reasoning_effort":              "llm.reasoning_effort",
	"llm.temperature":                   "llm.temperature",
	"llm.max_output_tokens":             "llm.max_output_tokens",
	"sandbox.base_container_image":      "sandbox.image",
	"sandbox.runtime_container_image":   "sandbox.image",
	"sandbox.remote_runtime_api_url":    "sandbox.runtime_api",
	"sandbox.close_delay":               "conversations.idle_timeout",
	"sandbox.volumes":                   "sandbox.mounts",
	"sandbox.runtime_startup_env_vars":  "sandbox.environment",
	"core.runtime":                      "sandbox.class",
	"core.debug":                        "log.level",
}

// openHandsInstead names the setting that has the effect of a key without one.
var openHandsInstead = map[string]string{
	"core.workspace_base":             "each sandbox has a workspace of its own; sandbox.read and sandbox.write grant other directories",
	"core.workspace_mount_path":       "each sandbox has a workspace of its own; sandbox.mounts adds directories to containers",
	"core.file_store":                 "events are in the data directory or in PostgreSQL (database.url)",
	"core.file_store_path":            "`deft conversations import` takes over conversations of OpenHands; --data is the directory of Deft's own",
	"core.jwt_secret":                 "OH_SECRET_KEY seals stored secrets",
	"core.save_trajectory_path":       "`deft conversations export` writes trajectories",
	"core.replay_trajectory_path":     "`deft run --replay` replays trajectories",
	"core.log_json":                   "log.format = \"json\" writes the log so",
	"core.git_user_name":              "commits carry the name that Git has on this machine",
	"core.git_user_email":             "commits carry the address that Git has on this machine",
	"sandbox.api_key":                 "the key for a Runtime API is in the variable that sandbox.runtime_api_key_env names",
	"sandbox.use_host_network":        "sandbox.net names the hosts that commands may reach; this machine is never reached",
	"sandbox.runtime_extra_deps":      "sandbox.image may name an image that has them",
	"sandbox.user_id":                 "commands run as the owner of the workspace",
	"llm.aws_access_key_id":           "keys are found where the AWS CLI finds them, or belong into the settings of users",
	"llm.aws_secret_access_key":       "keys are found where the AWS CLI finds them, or belong into the settings of users",
	"llm.aws_region_name":             "the region is found where the AWS CLI finds it",
	"llm.ollama_base_url":             "llm.base_url is the address of any server",
	"llm":                             "it is in the settings of users, with profiles of further models: see `deft config import`",
	"security.confirmation_mode":      "it is in the settings of users: see `deft config import`",
	"security.security_analyzer":      "it is in the settings of users: see `deft config import`",
	"agent":                           "the settings of users name the tools of agents",
	"agent.enable_jupyter":            "an agent has a notebook if its tools name ipython",
	"agent.enable_browsing":           "an agent has a browser if its tools name browser_tool_set",
	"condenser":                       "it is in the settings of users: see `deft config import`",
	"mcp":                             "MCP servers are in the settings of users: see `deft config import`",
	"kubernetes":                      "a Runtime API (sandbox.class remote) starts sandboxes elsewhere",
	"core.enable_default_condenser":   "it is in the settings of users",
	"core.enable_browser":             "an agent has a browser if its tools name browser_tool_set",
	"sandbox.initialize_plugins":      "a kernel, a browser and VS Code start when they are first used",
	"sandbox.vscode_port":             "VS Code is shown in the web app, without a port of its own",
	"sandbox.docker_runtime_kwargs":   "limits are in sandbox.memory, sandbox.cpus, sandbox.pids and sandbox.disk",
	"sandbox.remote_runtime_class":    "the Runtime API decides on that",
	"sandbox.local_runtime_url":       "sandboxes are reached without an address",
	"sandbox.runtime_binding_address": "sandboxes are reached without a port of this machine",
}

// openHandsVariables are the variables of the keys above: for keys of [core] the ones
// with a name of their own, for others all, with the section as prefix. A name such as
// DEBUG belongs to too many programs.
var openHandsVariables = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for key := range openHandsSettings {
		if section, name, _ := strings.Cut(key, "."); section == "core" {
			out[strings.ToUpper(name)] = key
		} else {
			out[strings.ToUpper(section+"_"+name)] = key
		}
	}
	for key := range openHandsInstead {
		switch section, name, _ := strings.Cut(key, "."); {
		case name == "":
		case section == "core":
			out[strings.ToUpper(name)] = key
		default:
			out[strings.ToUpper(section+"_"+name)] = key
		}
	}
	delete(out, "DEBUG")
	for _, s := range Settings() { // LLM_MODEL and its like are our own as well
		delete(out, s.Variable)
	}
	return out
})

// openHandsFile reads OpenHands' config.toml.
func (l *loader) openHandsFile(name string) {
	l.current++
	f, err := tomlfile.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fault.New(fault.Invalid, "OpenHands' configuration file "+name+" does not exist").Hint("look at its name, given by --openhands-config")
	}
	if err != nil {
		l.fail(err)
		return
	}
	l.report.Files = append(l.report.Files, f.Name)
	for _, t := range f.Tables {
		if !slices.Contains(openHandsSections, t.Path[0]) {
			l.warn(fmt.Sprintf("%s:%d: OpenHands has no section [%s]", f.Name, t.Line, strings.Join(t.Path, ".")))
		}
	}
	told := map[string]bool{}
	for _, e := range f.Entries {
		path := e.Path
		if len(path) == 1 { // OpenHands reads the keys of [core] only
			l.warn(fmt.Sprintf("%s:%d: %s has no effect outside a section", f.Name, e.Line, e.Key()))
			continue
		}
		if !slices.Contains(openHandsSections, path[0]) {
			continue // its header is the mistake
		}
		from := Source{Kind: FromFile, Name: f.Name, Line: e.Line}
		if strings.Join(path[:2], ".") == "sandbox.runtime_startup_env_vars" && len(path) == 3 {
			l.openHands("sandbox.runtime_startup_env_vars", map[string]string{path[2]: fmt.Sprint(e.Value)}, from)
			continue
		}
		if len(path) > 2 { // a named item, which is warned about once
			path = path[:2]
			if told[strings.Join(path, ".")] {
				continue
			}
			told[strings.Join(path, ".")] = true
			l.noEffect(strings.Join(path, "."), path[0], from)
			continue
		}
		if f.Open && e.Key() == "llm.api_key" && e.Value != "" {
			l.warn(from.String() + ": llm.api_key is a secret, and other users of the machine can read the file")
		}
		l.openHands(e.Key(), e.Value, from)
	}
}

// openHandsEnvironment takes over OpenHands' variables.
func (l *loader) openHandsEnvironment() {
	l.current++
	names := openHandsVariables()
	var found []string
	for name := range l.vars {
		if names[name] != "" || strings.HasPrefix(name, "SANDBOX_ENV_") {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	for _, name := range found {
		from := Source{Kind: FromVariable, Name: name}
		if inside, ok := strings.CutPrefix(name, "SANDBOX_ENV_"); ok {
			l.openHands("sandbox.runtime_startup_env_vars", map[string]string{inside: l.vars[name]}, from)
			continue
		}
		l.openHands(names[name], l.vars[name], from)
	}
}

// noEffect warns of a key.
func (l *loader) noEffect(key, reason string, from Source) {
	warning := from.String() + ": " + key + " has no effect in Deft"
	if why := openHandsInstead[reason]; why != "" {
		warning += ": " + why
	}
	l.warn(warning)
}

// openHands takes over one value of OpenHands' configuration. An empty text stands for
// "not set" there.
func (l *loader) openHands(key string, value any, from Source) {
	if value == "" {
		return
	}
	to, ok := openHandsSettings[key]
	if !ok {
		reason := key
		if openHandsInstead[reason] == "" {
			reason, _, _ = strings.Cut(key, ".")
		}
		l.noEffect(key, reason, from)
		return
	}
	s, _ := setting(to)
	switch key {
	case "core.runtime":
		switch value {
		case "docker", "remote": // OpenHands' names
		default: // a runtime without isolation there is never chosen silently
			l.warn(from.String() + ": core.runtime has no effect in Deft: the sandbox stays as sandbox.class says, which may be " + strings.Join(l.Classes.Names(), ", "))
			return
		}
	case "core.debug":
		if value != true {
			return
		}
		value = "debug"
	case "sandbox.close_delay":
		value = fmt.Sprint(value) + "s"
	case "sandbox.volumes":
		text, isText := value.(string)
		if !isText {
			l.fail(wrong(s, from, "takes a text from sandbox.volumes"))
			return
		}
		value = strings.Split(text, ",")
	case "core.default_agent":
		if value == "CodeActAgent" { // the same in both
			return
		}
	}
	l.set(s, value, from, filepath.Dir(from.Name))
}
