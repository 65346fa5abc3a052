package config_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/session/build"
)

// load loads with a settings file and variables; HOME is the test's.
func load(t *testing.T, file string, f config.Flags, environ ...string) (*config.Loaded, error) {
	t.Helper()
	if file != "" {
		f.Config = filepath.Join(t.TempDir(), "config.json")
		must.Succeed(t, os.WriteFile(f.Config, []byte(file), 0o600))
	}
	f.Classes = build.StandardClasses().Sandboxes
	return config.Load(append(environ, "HOME="+t.TempDir()), f)
}

func mustLoad(t *testing.T, file string, f config.Flags, environ ...string) *config.Loaded {
	t.Helper()
	l, err := load(t, file, f, environ...)
	must.Succeed(t, err)
	return l
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	l := mustLoad(t, "", config.Flags{Port: 8000})
	if got, want := l.Address(), "127.0.0.1:8000"; got != want {
		t.Errorf("address = %s, want %s", got, want)
	}
	if len(l.Warnings) > 0 {
		t.Errorf("warnings: %q", l.Warnings)
	}
	want := map[string]any{
		"conversations": "workspace/conversations", "bash": "workspace/bash_events", "idle": 1200.0, "keys": 0,
		"runs": config.Runs(), "vscode": true, "sandbox": "none", "persist": ".openhands",
	}
	got := map[string]any{
		"conversations": l.ConversationsPath, "bash": l.BashEventsDir, "idle": *l.ConversationIdleTTLSeconds,
		"keys": len(l.Keys()), "runs": l.MaxConcurrentRuns, "vscode": l.EnableVSCode, "sandbox": l.Sandbox.Name,
		"persist": filepath.Base(l.PersistenceDir),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestPrecedence has each source win over those before it.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	file := `{"conversations_path": "/file", "workspace_path": "/file", "bash_events_dir": "/file", "web_url": "http://file"}`
	l := mustLoad(t, file, config.Flags{ConversationsPath: "/flag"},
		"OH_CONVERSATIONS_PATH=/env", "OH_WORKSPACE_PATH=/env", "OH_WEB_URL_IS_NONE=1")
	got := []string{l.ConversationsPath, l.WorkspacePath, l.BashEventsDir, l.ConversationWorktreeRoot, fmt.Sprint(l.WebURL)}
	want := []string{"/flag", "/env", "/file", "/tmp/conversation-worktrees", "<nil>"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestForms reads values in each form that variables have.
func TestForms(t *testing.T) {
	t.Parallel()
	hooks := func(l *config.Loaded) any {
		var out []string
		for _, w := range l.Webhooks {
			out = append(out, fmt.Sprintf("%s %d %v %d", w.BaseURL, w.EventBufferSize, w.FlushDelay, len(w.Headers)))
		}
		return out
	}
	origins := func(l *config.Loaded) any { return l.AllowCORSOrigins }
	const file = `{"webhooks": [{"base_url": "http://a", "flush_delay": 2}], "allow_cors_origins": ["x", "y"]}`
	tests := []struct {
		name, file string
		env        []string
		get        func(*config.Loaded) any
		want       any
	}{
		{"items", "", []string{"OH_WEBHOOKS_0_BASE_URL=http://b", "OH_WEBHOOKS_1_BASE_URL=http://c", `OH_WEBHOOKS_1_HEADERS={"a":"b"}`}, hooks, []string{"http://b 5 30 0", "http://c 5 30 1"}},
		{"json", "", []string{`OH_WEBHOOKS=[{"base_url":"http://b"}]`, "OH_WEBHOOKS_0_EVENT_BUFFER_SIZE=7"}, hooks, []string{"http://b 7 30 0"}},
		{"item over the file", file, []string{"OH_WEBHOOKS_0_EVENT_BUFFER_SIZE=9"}, hooks, []string{"http://a 9 2 0"}},
		{"length", file, []string{"OH_WEBHOOKS=1", "OH_WEBHOOKS_0_FLUSH_DELAY=0.5"}, hooks, []string{"http://a 5 0.5 0"}},
		{"longer than the file", file, []string{"OH_ALLOW_CORS_ORIGINS_0=p", "OH_ALLOW_CORS_ORIGINS_1=q", "OH_ALLOW_CORS_ORIGINS_2=r"}, origins, []string{"p", "q", "r"}},
		{"list in one", file, []string{`OH_ALLOW_CORS_ORIGINS=["z"]`}, origins, []string{"z", "y"}},
		{"bool", "", []string{"OH_DEFERRED_INIT=TRUE"}, func(l *config.Loaded) any { return l.DeferredInit }, true},
		{"bool off", `{"preload_tools": true}`, []string{"OH_PRELOAD_TOOLS=0"}, func(l *config.Loaded) any { return l.PreloadTools }, false},
		{"object", "", []string{`OH_TELEMETRY={"max_queue_size": 3}`, "OH_TELEMETRY_NUM_RETRIES=4"}, func(l *config.Loaded) any {
			return []int{l.Telemetry.MaxQueueSize, l.Telemetry.NumRetries, l.Telemetry.EventBufferSize}
		}, []int{3, 4, 20}},
		{"any", "", []string{"OH_REGISTERED_MARKETPLACES_0_NAME=n", "OH_REGISTERED_MARKETPLACES_0_SOURCE=s", `OH_REGISTERED_MARKETPLACES_0_AUTO_LOAD=["p"]`}, func(l *config.Loaded) any { return l.RegisteredMarketplaces[0].AutoLoad }, []any{"p"}},
		{"none", "", []string{"OH_CONVERSATION_IDLE_TTL_SECONDS_IS_NONE=true"}, func(l *config.Loaded) any { return l.ConversationIdleTTLSeconds == nil }, true},
		{"text for a number", `{"max_concurrent_runs": "12"}`, nil, func(l *config.Loaded) any { return l.MaxConcurrentRuns }, 12},
		{"docker's", "", []string{"OH_CONVERSATION_IMAGE=i"}, func(l *config.Loaded) any { return l.ConversationImage }, "i"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tt.want, tt.get(mustLoad(t, tt.file, config.Flags{}, tt.env...))); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestIdleTimeout: the flag wins over the setting, and 0 is for never.
func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	const file = `{"conversation_idle_ttl_seconds": 5}`
	for given, want := range map[time.Duration]*float64{0: nil, 90 * time.Second: new(90.0)} {
		got := mustLoad(t, file, config.Flags{IdleTimeout: &given}).ConversationIdleTTLSeconds
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("--idle-timeout %s: %s", given, d)
		}
	}
	if got := mustLoad(t, file, config.Flags{}).ConversationIdleTTLSeconds; got == nil || *got != 5 {
		t.Errorf("without the flag: %v", got)
	}
}

// TestRefused wants errors that name the setting and never its value.
func TestRefused(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2"
	tests := []struct{ name, file, env, says string }{
		{"no JSON", `{"secret_key": "` + secret, "", "not JSON"},
		{"no object", `["` + secret + `"]`, "", "JSON object"},
		{"two values", `{} {"secret_key":"` + secret + `"}`, "", "not JSON"},
		{"key as a word", "", "OH_SESSION_API_KEYS=" + secret, "OH_SESSION_API_KEYS is not JSON"},
		{"list of objects", `{"session_api_keys": [{"a": "` + secret + `"}]}`, "", "session_api_keys.0 (OH_SESSION_API_KEYS_0) must be text"},
		{"number", `{"max_concurrent_runs": "` + secret + `"}`, "", "max_concurrent_runs"},
		{"range", "", "OH_MAX_CONCURRENT_RUNS=0", "must be at least 1"},
		{"fraction", "", "OH_VSCODE_PORT=1.5", "whole number"},
		{"word", "", "OH_ACP_SKILL_SOURCING=" + secret, "must be one of"},
		{"webhook", `{"webhooks": [{"headers": {"a": "` + secret + `"}}]}`, "", "webhooks.0.base_url"},
		{"no URL of a webhook", `{"webhooks": [{"base_url": ""}]}`, "", "must be a URL of http or https"},
		{"no host of a webhook", `{"webhooks": [{"base_url": "http://"}]}`, "", "must be a URL of http or https"},
		{"a webhook to a file", `{"webhooks": [{"base_url": "file:///etc/passwd"}]}`, "", "must be a URL of http or https"},
		{"batch of a webhook", "", "OH_WEBHOOKS_0_EVENT_BUFFER_SIZE=0", "event_buffer_size (OH_WEBHOOKS_0_EVENT_BUFFER_SIZE) must be at least 1"},
		{"delay of a webhook", "", "OH_WEBHOOKS_0_FLUSH_DELAY=0", "must be above 0"},
		{"bytes of a webhook", "", "OH_WEBHOOKS_0_MAX_BATCH_BYTES=0", "must be at least 1"},
		{"retries of a webhook", "", "OH_WEBHOOKS_0_NUM_RETRIES=-1", "must be at least 0"},
		{"hole in a list", "", "OH_WEBHOOKS=2", "webhooks.0 (OH_WEBHOOKS_0) is missing"},
		{"regex", `{"allow_cors_origin_regex": "(` + secret + `"}`, "", "allow_cors_origin_regex"},
		{"memory of containers", "", "OH_CONVERSATION_RUNTIME=docker OH_CONVERSATION_CONTAINER_MEMORY=" + secret, "conversation_container_memory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, tt.file, config.Flags{}, strings.Fields(tt.env)...)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("error %v, want one with %q", err, tt.says)
			}
			if strings.Contains(err.Error(), secret) || strings.Contains(fault.HintOf(err), secret) {
				t.Errorf("the error tells a value: %v", err)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	if l, err := config.Load([]string{"HOME=/h", "OPENHANDS_AGENT_SERVER_CONFIG_PATH=/gone/c.json"}, config.Flags{Classes: build.StandardClasses().Sandboxes}); err != nil ||
		!slices.Equal(l.Warnings, []string{"the settings file does not exist: /gone/c.json"}) {
		t.Errorf("a file that is not there: %v, %v", l, err)
	}
	l := mustLoad(t, `{"old": 1, "webhooks": [{"base_url": "http://a", "new": "secret"}]}`, config.Flags{Reload: true},
		"OH_ENABLE_VNC=1", "OH_PRELOAD_TOOLS=yes", "OH_PERSISTENCE_DIR=/p", "PATH=/bin")
	want := []string{
		"--reload has no effect: this server runs no Python",
		"OH_PRELOAD_TOOLS is neither 1 nor 0 and counts as 0",
		"unknown setting: old", "unknown setting: webhooks.0.new",
		"unknown variables: OH_ENABLE_VNC",
	}
	if d := cmp.Diff(want, l.Warnings); d != "" {
		t.Error(d)
	}
}

// TestAddress wants a server without keys to be unreachable for others
// (CVE-2026-112346).
func TestAddress(t *testing.T) {
	t.Parallel()
	tests := []struct {
		host string
		env  []string
		want string // "" is refused
	}{
		{"", nil, "127.0.0.1"}, {"localhost", nil, "localhost"}, {"::1", nil, "::1"}, {"[::1]", nil, "::1"},
		{"127.0.0.5", nil, "127.0.0.5"}, {"0.0.0.0", nil, ""}, {"::", nil, ""}, {"[::]", nil, ""},
		{"10.0.0.1", nil, ""}, {"agent.example", nil, ""},
		{"", []string{"OH_SESSION_API_KEYS_0="}, "127.0.0.1"}, {"0.0.0.0", []string{"OH_SESSION_API_KEYS_0="}, ""},
		{"0.0.0.0", []string{"SESSION_API_KEY="}, ""},
		{"0.0.0.0", []string{"OH_SESSION_API_KEYS_0=  "}, ""}, {"0.0.0.0", []string{"SESSION_API_KEY=\t"}, ""},
		{"0.0.0.0", []string{"OH_DEFERRED_INIT=1", "OH_SESSION_API_KEYS_0= "}, ""}, // it is no secret key either
		{"", []string{"OH_SESSION_API_KEYS_0=k"}, "0.0.0.0"}, {"", []string{"SESSION_API_KEY=k"}, "0.0.0.0"},
		{"10.0.0.1", []string{"SESSION_API_KEY=k"}, "10.0.0.1"},
		{"0.0.0.0", []string{"OH_DEFERRED_INIT=1"}, ""},
		{"0.0.0.0", []string{"OH_DEFERRED_INIT=1", "OH_SECRET_KEY=s"}, "0.0.0.0"},
	}
	for _, tt := range tests {
		l, err := load(t, "", config.Flags{Host: tt.host}, tt.env...)
		switch {
		case tt.want == "":
			if !fault.Is(err, fault.Denied) || fault.HintOf(err) == "" {
				t.Errorf("host %q with %v: error %v, want a refusal with a hint", tt.host, tt.env, err)
			}
		case err != nil:
			t.Errorf("host %q with %v: %v", tt.host, tt.env, err)
		case l.Host != tt.want:
			t.Errorf("host %q with %v: listens on %q, want %q", tt.host, tt.env, l.Host, tt.want)
		}
	}
}

// TestNetwork listens on 0.0.0.0 and not on the IPv6 addresses.
func TestNetwork(t *testing.T) {
	t.Parallel()
	l := mustLoad(t, "", config.Flags{Host: "0.0.0.0"}, "SESSION_API_KEY=k")
	at, err := new(net.ListenConfig).Listen(t.Context(), l.Network(), l.Address())
	must.Succeed(t, err)
	defer at.Close()
	if ip := at.Addr().(*net.TCPAddr).IP; ip.To4() == nil {
		t.Errorf("listens on %s", ip)
	}
	if got := mustLoad(t, "", config.Flags{Host: "::1"}).Network(); got != "tcp" {
		t.Errorf("::1 is of the network %s", got)
	}
}

func TestInternalURL(t *testing.T) {
	t.Parallel()
	for want, addr := range map[string]*net.TCPAddr{
		"http://127.0.0.1:80": {IP: net.IPv4zero, Port: 80}, "http://127.0.0.1:81": {IP: net.IPv6zero, Port: 81},
		"http://[::1]:82": {IP: net.IPv6loopback, Port: 82},
	} {
		if got := config.InternalURL(addr); got != want {
			t.Errorf("InternalURL(%v) = %s, want %s", addr, got, want)
		}
	}
}

// TestPrintsNoSecrets prints a configuration in every way.
func TestPrintsNoSecrets(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2"
	l := mustLoad(t, `{"session_api_keys": ["`+secret+`"], "previous_secret_keys": ["`+secret+`"],
		"webhooks": [{"base_url": "http://a", "headers": {"Authorization": "`+secret+`"}}], "telemetry": {"salt": "`+secret+`"}}`,
		config.Flags{}, "OH_SECRET_KEY="+secret)
	encoded, err := json.Marshal(l)
	must.Succeed(t, err)
	for _, text := range []string{string(encoded), fmt.Sprintf("%v", *l.Config), fmt.Sprintf("%+v", *l.Config), fmt.Sprintf("%#v", *l.Config)} {
		if strings.Contains(text, secret) {
			t.Errorf("tells a secret: %s", text)
		}
	}
	if d := cmp.Diff([]string{secret}, l.Keys()); d != "" {
		t.Error(d)
	}
}
