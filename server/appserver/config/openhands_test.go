package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/appserver/config"
)

const openHandsFile = `
stray = 1
[core]
workspace_base = "./workspace"
runtime = "docker"
max_iterations = 77
max_budget_per_task = 2.5
max_concurrent_conversations = 4
default_agent = "CodeActAgent"
jwt_secret = ""
runtime_executor = "exec:/bin/deploy"
file_store = "s3"
debug = true
[llm]
model = "openai/gpt-5"
api_key = "sk-secret"
temperature = 0.0
num_retries = 8
[llm.draft]
model = "x"
api_key = "sk-draft"
[agent.RepoExplorerAgent]
llm_config = 'gpt3'
[agent]
enable_jupyter = false
[sandbox]
base_container_image = "python:3.12"
volumes = "VOLUME/data:/data:ro,VOLUME/out:/out"
close_delay = 300
runtime_startup_env_vars = { LANG = "C", N = 3 }
use_host_network = true
docker_runtime_kwargs = { network = "host" }
[security]
confirmation_mode = true
[condenser]
type = "noop"
[kubernetes]
namespace = "default"
[mcp]
sse_servers = ["https://mcp.example"]
[model_routing]
router_name = "noop_router"
[extended]
a = 1
[cli]
vi_mode = true
[colour]
red = 1
`

// TestOpenHands: keys with a setting in Deft are taken over, with their source, and all
// others are named.
func TestOpenHands(t *testing.T) {
	t.Parallel()
	m := newMachine(t, map[string]string{
		"data/x": "", "out/x": "",
		machineFile: "[conversations]\nmax_iterations = 5\nmax_per_user = 9\n",
	}, "MAX_ITERATIONS=88", "SANDBOX_ENV_TZ=UTC", "SANDBOX_USER_ID=1000", "FILE_STORE_PATH=/x", "DEBUG=1", "SANDBOX_PLATFORM=", "SANDBOX_INITIALIZE_PLUGINS=true", "SANDBOX_VSCODE_PORT=4141", "AGENT_ENABLE_JUPYTER=1", "DEFT_CONVERSATIONS_MAX_BUDGET=3", "LLM_BASE_URL=http://127.0.0.1:1/v1")
	m.Flags.OpenHandsConfig = filepath.Join(m.root, "oh.toml")
	must.Succeed(t, os.WriteFile(m.Flags.OpenHandsConfig, []byte(strings.ReplaceAll(openHandsFile, "VOLUME", m.root)), 0o600))
	c, from, report := m.load(t)
	want := map[string]string{
		"sandbox.class":                "docker <- oh.toml:5",
		"conversations.max_iterations": "88 <- MAX_ITERATIONS",
		"conversations.max_budget":     "3 <- DEFT_CONVERSATIONS_MAX_BUDGET",
		"conversations.max_per_user":   "4 <- oh.toml:8",
		"conversations.idle_timeout":   "5m <- oh.toml:29",
		"classes.executor":             "exec:/bin/deploy <- oh.toml:11",
		"log.level":                    "debug <- oh.toml:13",
		"llm.model":                    "openai/gpt-5 <- oh.toml:15",
		"llm.api_key":                  "[set] <- oh.toml:16",
		"llm.base_url":                 "http://127.0.0.1:1/v1 <- LLM_BASE_URL",
		"llm.temperature":              "0 <- oh.toml:17",
		"sandbox.image":                "python:3.12 <- oh.toml:27",
		"sandbox.mounts":               m.root + "/data:/data:ro," + m.root + "/out:/out:rw <- oh.toml:28",
		"sandbox.environment":          "LANG=[set],N=[set],TZ=[set] <- SANDBOX_ENV_TZ",
	}
	if diff := cmp.Diff(want, from); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := c.Sandbox.Environment; got["N"] != "3" || got["TZ"] != "UTC" || c.LLM.APIKey.Reveal() != "sk-secret" {
		t.Errorf("%v", got)
	}
	warnings := strings.ReplaceAll(strings.Join(report.Warnings, "\n"), m.root+"/", "")
	for _, warned := range []string{
		"oh.toml:2: stray has no effect outside a section",
		"oh.toml:4: core.workspace_base has no effect in Deft: each sandbox",
		"oh.toml:12: core.file_store has no effect",
		"oh.toml:18: llm.num_retries has no effect in Deft",
		"oh.toml:20: llm.draft has no effect in Deft: it is in the settings of users, with profiles of further models: see `deft config import`",
		"oh.toml:23: agent.RepoExplorerAgent has no effect",
		"oh.toml:25: agent.enable_jupyter has no effect in Deft: an agent has a notebook if its tools name ipython",
		"oh.toml:31: sandbox.use_host_network has no effect in Deft: sandbox.net",
		"oh.toml:32: sandbox.docker_runtime_kwargs has no effect",
		"oh.toml:34: security.confirmation_mode has no effect",
		"oh.toml:36: condenser.type has no effect",
		"oh.toml:38: kubernetes.namespace has no effect",
		"oh.toml:40: mcp.sse_servers has no effect",
		"oh.toml:42: model_routing.router_name has no effect",
		"oh.toml:44: extended.a has no effect",
		"oh.toml:46: cli.vi_mode has no effect",
		"oh.toml:47: OpenHands has no section [colour]",
		"FILE_STORE_PATH: core.file_store_path has no effect",
		"SANDBOX_USER_ID: sandbox.user_id has no effect",
		"SANDBOX_INITIALIZE_PLUGINS: sandbox.initialize_plugins has no effect in Deft: a kernel, a browser and VS Code start when",
		"SANDBOX_VSCODE_PORT: sandbox.vscode_port has no effect in Deft: VS Code is shown in the web app",
		"AGENT_ENABLE_JUPYTER: agent.enable_jupyter has no effect",
	} {
		if !strings.Contains(warnings, warned) {
			t.Errorf("no warning %q", warned)
		}
	}
	for _, not := range []string{"jwt_secret", "sk-", "SANDBOX_PLATFORM", "DEBUG", "red"} {
		if strings.Contains(warnings, not) {
			t.Errorf("a warning has %q:\n%s", not, warnings)
		}
	}
	if n := strings.Count(warnings, "llm.draft"); n != 1 {
		t.Errorf("llm.draft is named %d times", n)
	}
}

// TestOpenHandsIsolation: nothing of OpenHands' takes the sandbox away.
func TestOpenHandsIsolation(t *testing.T) {
	t.Parallel()
	for _, runtime := range []string{"local", "cli", "kubernetes", "none"} {
		m := newMachine(t, nil, "RUNTIME="+runtime)
		c, _, report := m.load(t)
		if c.Sandbox.Class != "process" || len(report.Warnings) != 1 || !strings.HasPrefix(report.Warnings[0], "RUNTIME: core.runtime has no effect") {
			t.Errorf("%s: %s, %v", runtime, c.Sandbox.Class, report.Warnings)
		}
	}
}

func TestOpenHandsMistakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, says string }{
		"wrong value": {"[core]\nmax_iterations = \"many\"\n", "oh.toml:2: conversations.max_iterations must be a number"},
		"wrong type":  {"[sandbox]\nvolumes = 3\n", "takes a text from sandbox.volumes"},
		"no TOML":     {"[core\n", "oh.toml:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, map[string]string{"oh.toml": c.file})
			m.Flags.OpenHandsConfig = filepath.Join(m.root, "oh.toml")
			if _, _, err := config.Load(m.Sources); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
	m := newMachine(t, nil)
	m.Flags.OpenHandsConfig = filepath.Join(m.root, "none.toml")
	if _, _, err := config.Load(m.Sources); err == nil || !strings.Contains(err.Error(), "none.toml does not exist") {
		t.Errorf("got %v", err)
	}
}
