package settings_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/waittest"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/launch"
	_ "github.com/deft-dev/deft/tool/builtin" // the tools of the server
)

// reference starts the reference's own server on a directory.
func reference(t *testing.T, dir, key string, previous ...string) string {
	t.Helper()
	python := os.Getenv("DEFT_OPENHANDS_PYTHON")
	if _, err := os.Stat(python); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the reference's server is not installed: %v", err)
		}
		t.Skipf("the reference's server is not installed (make deps; DEFT_OPENHANDS_PYTHON): %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	cmd := exec.Command(python, "-m", "openhands.agent_server", "--host", "127.0.0.1", "--port", port)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "OH_ENABLE_VSCODE=false", "OH_PRELOAD_TOOLS=false", "OH_ENABLE_BROWSER=false", "LITELLM_LOCAL_MODEL_COST_MAP=True", "OH_SECRET_KEY="+key, "OH_PERSISTENCE_DIR="+dir)
	for i, k := range previous {
		cmd.Env = append(cmd.Env, fmt.Sprintf("OH_PREVIOUS_SECRET_KEYS_%d=%s", i, k))
	}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	stop := func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}
	t.Cleanup(stop)
	url := "http://127.0.0.1:" + port
	waittest.Until(t, "the reference's server answers", func() bool {
		select {
		case <-ended:
			t.Fatalf("the reference's server did not start:\n%s", log.Bytes())
		default:
		}
		res, err := http.Get(url + "/health")
		if err == nil {
			res.Body.Close()
		}
		return err == nil
	})
	return url
}

var (
	ids    = regexp.MustCompile(`[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}`)
	tokens = regexp.MustCompile(`gAAAAA[A-Za-z0-9_=-]+`)
)

// more are fields of pages about condensers that only Deft has (docs/condensers.md).
var more = map[any]bool{"condenser.max_events": true, "condenser.max_event_length": true, "condenser.attention_window": true}

// normal takes out of an answer the values that no two servers share, the
// prose, and Deft's own kinds of condensers.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		if v["key"] == "condenser.condenser_kind" {
			delete(v, "choices")
		}
		for k, e := range v {
			switch k {
			case "current_datetime", "created_at", "updated_at", "input", "ctx", "url", "error_id", "exception":
			case "description", "label":
				out[k] = e != nil && e != ""
			case "msg":
				out[k] = "…"
			default:
				out[k] = normal(e)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			if m, ok := e.(map[string]any); !ok || !more[m["key"]] {
				out = append(out, normal(e))
			}
		}
		return out
	case string:
		return tokens.ReplaceAllString(ids.ReplaceAllString(v, "ID"), "SEALED")
	}
	return v
}

func keep(t *testing.T, vars map[string]string, how string, body any) {
	name, path, ok := strings.Cut(how, "=")
	if !ok {
		return
	}
	for part := range strings.SplitSeq(path, ".") {
		switch v := body.(type) {
		case map[string]any:
			body = v[part]
		case []any:
			var i int
			if _, err := fmt.Sscan(part, &i); err != nil || i >= len(v) {
				t.Fatalf("no %s in an answer", path)
			}
			body = v[i]
		}
	}
	vars[name] = fmt.Sprint(body)
}

func (s step) send(t *testing.T, base string, vars map[string]string) reply {
	t.Helper()
	path, body := s.path, s.body
	for k, v := range vars {
		path, body = strings.ReplaceAll(path, "{"+k+"}", v), strings.ReplaceAll(body, "{"+k+"}", v)
	}
	r := call(t, base, s.method, path, body)
	keep(t, vars, s.keep, r.Body)
	r.Body = normal(r.Body)
	return r
}

// everything is the part of one directory that both servers must read the same.
var everything = []string{
	"/api/settings X-Expose-Secrets: plaintext", "/api/settings/secrets", "/api/settings/secrets/TOKEN", "/api/profiles",
	"/api/profiles/fast X-Expose-Secrets: plaintext", "/api/profiles/linked X-Expose-Secrets: plaintext", "/api/llm/provider-connections",
	"/api/agent-profiles", "/api/agent-profiles/own", "/api/meta-profiles", "/api/meta-profiles/router",
}

var filling = []step{
	{"PATCH", "/api/settings", `{"agent_settings_diff":{"llm":{"model":"openai/gpt-5","api_key":"sk-1"},"mcp_config":{"m":{"command":"c","env":{"K":"v"}}},"agent_context":{"secrets":{"A":"b"}}},"misc_settings_diff":{"z":1,"a":{"é":"ü"}}}`, ""},
	{"PUT", "/api/settings/secrets", `{"name":"TOKEN","value":"s3cr\u00e9t"}`, ""},
	{"POST", "/api/llm/provider-connections", `{"display_name":"Shared","api_key":"sk-3","base_url":"http://h/v1"}`, "conn=id"},
	{"POST", "/api/profiles/fast", `{"llm":{"model":"openai/gpt-5","api_key":"sk-2"}}`, ""},
	{"POST", "/api/profiles/linked", `{"llm":{"model":"m","provider_connection_id":"{conn}"}}`, ""},
	{"POST", "/api/agent-profiles/own", `{"llm_profile_ref":"fast","tools":[{"name":"terminal"}]}`, ""},
	{"POST", "/api/meta-profiles/router", `{"classifier_model":"fast","classes":[{"description":"d","model":"fast"}]}`, ""},
	{"POST", "/api/profiles/fast/activate", "", ""},
	{"GET", "/api/agent-profiles", "", ""},
}

// TestReference holds the routes to the reference's own server: in its answers,
// and in the files that both read and write.
func TestReference(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	theirs := reference(t, dir, "the key")
	ours := serve(t, t.TempDir(), keyring.New("the key")).url
	t.Run("answers", func(t *testing.T) { sameAnswers(t, theirs, ours) })
	shared := serve(t, dir, keyring.New("the key")).url
	t.Run("its directory", func(t *testing.T) { moves(t, dir, theirs, shared) })
	t.Run("our directory", func(t *testing.T) { moves(t, dir, shared, theirs) })
	t.Run("launches", func(t *testing.T) { launches(t, dir, theirs) })
	t.Run("odd files", func(t *testing.T) { oddFiles(t, dir, theirs, shared) })
}

func sameAnswers(t *testing.T, theirs, ours string) {
	mine, other := map[string]string{}, map[string]string{}
	for i, s := range scenario {
		want, got := s.send(t, theirs, other), s.send(t, ours, mine)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d %s %s %s (-reference +deft)\n%s", i, s.method, s.path, s.body, diff)
		}
	}
}

// empty removes everything from a directory.
func empty(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{"*.json", "*/*.json"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// sameReading compares both servers' reading of one directory.
func sameReading(t *testing.T, one, other string) {
	t.Helper()
	for _, path := range everything {
		want, got := call(t, one, "GET", path, ""), call(t, other, "GET", path, "")
		want.Body, got.Body = normal(want.Body), normal(got.Body)
		if diff := cmp.Diff(want, got); diff != "" || want.Status != 200 {
			t.Errorf("%s: status %d (-one +other)\n%s", path, want.Status, diff)
		}
	}
}

// moves lets one server fill a directory and the other read and write it.
func moves(t *testing.T, dir, writer, reader string) {
	empty(t, dir)
	vars := map[string]string{}
	must := func(base string, steps ...step) {
		t.Helper()
		for _, s := range steps {
			if r := s.send(t, base, vars); r.Status >= 300 {
				t.Fatalf("%s %s: %v", s.method, s.path, r)
			}
		}
	}
	must(writer, filling...)
	sameReading(t, writer, reader)
	must(reader,
		step{"PATCH", "/api/settings", `{"conversation_settings_diff":{"max_iterations":3}}`, ""},
		step{"PUT", "/api/settings/secrets", `{"name":"SECOND","value":"x"}`, ""},
		step{"POST", "/api/agent-profiles/own", `{"llm_profile_ref":"linked"}`, ""},
	)
	sameReading(t, writer, reader)
	raw, err := os.ReadFile(filepath.Join(dir, "settings.json"))
	if err != nil || !json.Valid(raw) || strings.Contains(string(raw), "sk-2") {
		t.Errorf("settings.json: %v", err)
	}
}

// started are agents in the forms that start requests have them.
var started = []string{
	`"agent":{"llm":{"model":"x","api_key":"k"}}`,
	`"agent":{"kind":"Agent","llm":{"model":"x","api_key":"k","stream":true},"tools":[{"name":"terminal"},{"name":"file_editor","params":null}],
		"condenser":{"kind":"LLMSummarizingCondenser","llm":{"model":"y","stream":true},"max_size":80},"system_prompt_kwargs":{"cli_mode":true},
		"mcp_config":{"m":{"command":"c","env":{"K":"v"}},"n":{"url":"http://h","auth":{"strategy":"bearer","value":"t"}}},"include_default_tools":[],
		"agent_context":{"secrets":{"A":"b","C":{"kind":"StaticSecret","value":"q"}},"system_message_suffix":"s"},"tool_concurrency_limit":4,"persona":"p"}`,
	`"agent":{"llm":{"model":"x"},"critic":{"kind":"APIBasedCritic","api_key":"k","iterative_refinement":{}}}`,
	`"agent":{"llm":{"model":"x"},"critic":{"kind":"AgentFinishedCritic","mode":"all_actions"}}`,
	`"agent":{"llm":{"model":"x"},"critic":{"kind":"MoonCritic"}}`,
	`"agent_settings":{"llm":{"model":"x","api_key":"k"},"verification":{"critic_enabled":true,"critic_api_key":"c","critic_server_url":"http://127.0.0.1:9","enable_iterative_refinement":true}}`,
	`"agent_settings":{"llm":{"model":"x","api_key":"k"}}`,
	`"agent_settings":{"llm":{"model":"x"},"tools":[]}`,
	`"agent_settings":{"llm":{"model":"x"},"tools":[{"name":"think"},{"name":"switch_llm"},{"name":"terminal"},{"name":"terminal"}],"condenser":{"enabled":false}}`,
	`"agent_settings":{"llm":{"model":"x"},"condenser":{"condenser_kind":"no_op"},"agent_context":{"current_datetime":"a day"},"persona":"p"}`,
	`"agent_settings":{"schema_version":9,"llm":{"model":"x"},"tools":[{"name":"task_tool_set"}]}`,
	`"agent_settings":{"llm":{"model":"x"},"tools":[],"enable_classify_and_switch_llm_tool":true,"active_meta_profile":"a"}`,
	`"agent_profile_id":"{own}"`,
	`"agent_profile_id":"{own}","agent_launch_additions":{"llm_profile_ref":"linked","system_message_suffix_append":" more "}`,
	`"agent_profile_id":"48376708-163f-4e5b-abcc-18237cd62f47"`,
	`"agent_profile_id":"{own}","agent_launch_additions":{"llm_profile_ref":"nobody"}`,
	`"agent_settings":{"llm":{"model":""}}`,
	`"agent":{"kind":"Robot"}`,
	`"agent":{"llm":{"model":"x"},"system_prompt":"a","system_prompt_filename":"b"}`,
	`"agent_settings":{"enable_switch_llm_tool":true}`,
	`"agent_profile_id":"{own}","agent_settings":{}`,
	``,
}

// launches compares the agents of new conversations.
func launches(t *testing.T, dir, theirs string) {
	s := serve(t, dir, keyring.New("the key"))
	p, err := s.Profiles.Agents.Load(t.Context(), "own")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range started {
		source = strings.ReplaceAll(source, "{own}", p.Text("id"))
		body := `{"workspace":{"working_dir":"` + t.TempDir() + `"}` + strings.TrimSuffix(","+source, ",") + `}`
		want := call(t, theirs, "POST", "/api/conversations", body)
		var request struct {
			Agent     *schema.Map `json:"agent"`
			Settings  *schema.Map `json:"agent_settings"`
			Profile   string      `json:"agent_profile_id"`
			Additions struct {
				LLM    string `json:"llm_profile_ref"`
				Suffix string `json:"system_message_suffix_append"`
			} `json:"agent_launch_additions"`
		}
		if err := json.Unmarshal([]byte(body), &request); err != nil {
			t.Fatal(err)
		}
		l, err := s.Launch(t.Context(), launch.Source{Agent: request.Agent, Settings: request.Settings, ProfileID: request.Profile, LLMProfile: request.Additions.LLM}, launch.Runtime{Suffixes: []string{request.Additions.Suffix}})
		if err != nil {
			status := fault.KindOf(err).HTTPStatus()
			var told any = err.Error()
			refused, ok := errors.AsType[*launch.Error](err)
			if ok {
				told = refused.Detail()
			}
			if ok || fault.Is(err, fault.NotFound) {
				detail, _ := json.Marshal(map[string]any{"detail": told})
				if diff := cmp.Diff(normal(want.Body), normal(parsed(t, detail))); diff != "" {
					t.Errorf("%s (-reference +deft)\n%s", source, diff)
				}
			}
			if want.Status != status {
				t.Errorf("%s: refused with %d (%v), by the reference %v", source, status, err, want)
			}
			continue
		}
		if want.Status != 201 {
			t.Errorf("%s: launched, by the reference refused: %v", source, want)
			continue
		}
		raw, err := l.Agent.JSON(schema.Writing{Mode: schema.Nulled})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(normal(at(want.Body, "agent")), normal(parsed(t, raw))); diff != "" {
			t.Errorf("%s (-reference +deft)\n%s", source, diff)
		}
		record := l.Profile
		if record == nil {
			record = []byte("null")
		}
		if diff := cmp.Diff(at(want.Body, "launched_agent_profile"), parsed(t, record)); diff != "" {
			t.Errorf("%s (-reference +deft)\n%s", source, diff)
		}
	}
}

func parsed(t *testing.T, raw []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// odd are files that another program wrote, and broken ones.
var odd = []string{
	`{"schema_version":6,"agent_settings":{"schema_version":9,"llm":{"model":"m","timeout":5},"condenser":{"condenser_kind":"no_op"}},"conversation_settings":{"max_iterations":9},"misc_settings":{"a":null}}`,
	`{"schema_version":7,"agent_settings":{"llm":{"model":"future"}}}`,
	`{"agent_settings":{"schema_version":99}}`,
	`{"agent_settings":{"llm":{}}}`,
	`{"agent_settings":[]}`,
	`[1]`, `{`, ``, `{"schema_version":"six"}`,
}

func oddFiles(t *testing.T, dir, theirs, ours string) {
	for _, content := range odd {
		empty(t, dir)
		if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		const path = "/api/settings X-Expose-Secrets: plaintext"
		want, got := call(t, theirs, "GET", path, ""), call(t, ours, "GET", path, "")
		if diff := cmp.Diff(normal(want.Body), normal(got.Body)); diff != "" {
			t.Errorf("%s (-reference +deft)\n%s", content, diff)
		}
		// Ours first: a file that one does not read must not be written by the other.
		got = call(t, ours, "PATCH", "/api/settings", `{"misc_settings_diff":{"b":1}}`)
		if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		want = call(t, theirs, "PATCH", "/api/settings", `{"misc_settings_diff":{"b":1}}`)
		if got.Status != want.Status {
			t.Errorf("%s: a change is answered with %d, by the reference with %d", content, got.Status, want.Status)
		}
	}
	for _, content := range []string{
		`{"schema_version":4,"name":"old","llm_profile_ref":"x","tools":[],"id":"48376708163f4e5babcc18237cd62f47","revision":4}`,
		`{"schema_version":4,"name":"old","llm_profile_ref":"x","enable_sub_agents":true}`,
		`{"schema_version":9,"name":"old","llm_profile_ref":"x"}`, `{"name":"old"}`, `[]`, `{`,
	} {
		if err := os.WriteFile(filepath.Join(dir, "agent-profiles", "old.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		want, got := call(t, theirs, "GET", "/api/agent-profiles/old", ""), call(t, ours, "GET", "/api/agent-profiles/old", "")
		if want.Status >= 400 && got.Status == want.Status {
			continue // the reasons are told in other words
		}
		if diff := cmp.Diff(normal(want.Body), normal(got.Body)); diff != "" || want.Status != got.Status {
			t.Errorf("%s: %d, %d (-reference +deft)\n%s", content, want.Status, got.Status, diff)
		}
	}
}
