package profiles_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

func TestAssignments(t *testing.T) {
	t.Parallel()
	s, dir := saved(t, map[string]profiles.Profile{
		"a": profile("ollama/x", spec.LLMExtras{}), "b": profile("ollama/x", spec.LLMExtras{}),
		"c": profile("ollama/x", spec.LLMExtras{Fallback: []string{"b"}}), "d": profile("ollama/x", spec.LLMExtras{Vision: "c"}),
	})
	for _, tt := range []struct {
		name    string
		agent   bool
		profile string
		want    fault.Kind
	}{
		{"agent", false, "a", ""}, {"condenser", false, "a", ""}, {"condenser", false, "d", ""}, {"titles", false, "", ""},
		{"CodeActAgent", true, "b", ""}, {"agent", false, "nobody", fault.NotFound}, {"agent", false, "../a", fault.Invalid},
	} {
		if err := s.Assign(t.Context(), tt.name, tt.agent, tt.profile); err != nil && fault.KindOf(err) != tt.want || err == nil && tt.want != "" {
			t.Errorf("%s to %s: %v", tt.name, tt.profile, err)
		}
	}
	got, err := profiles.ReadAssignments(nil, dir)
	want := profiles.Assignments{Services: map[string]string{"agent": "a", "condenser": "d"}, Agents: map[string]string{"CodeActAgent": "b"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if got.Agent("CodeActAgent") != "b" || got.Agent("OtherAgent") != "a" {
		t.Errorf("agents use %q and %q", got.Agent("CodeActAgent"), got.Agent("OtherAgent"))
	}
	for _, name := range []string{"a", "b", "c", "d"} { // a service, an agent, a vision, a service
		if err := s.DeleteLLM(t.Context(), name); fault.KindOf(err) != fault.Conflict {
			t.Errorf("%s was deleted: %v", name, err)
		}
	}
	must.Succeed(t, s.RenameLLM(t.Context(), "b", "e"))
	p, err := s.LLMs.Profile(t.Context(), "c")
	if got, err2 := profiles.ReadAssignments(nil, dir); err != nil || err2 != nil || got.Agents["CodeActAgent"] != "e" || p.LLM.Profiles()[0] != "e" {
		t.Errorf("after a renaming: %v %v %+v %+v", err, err2, got, p.LLM.Profiles())
	}
	for name, agent := range map[string]bool{"condenser": false, "CodeActAgent": true} {
		must.Succeed(t, s.Assign(t.Context(), name, agent, ""))
	}
	for _, name := range []string{"d", "c", "e"} {
		must.Report(t, s.DeleteLLM(t.Context(), name))
	}
	for text, want := range map[string]fault.Kind{`{`: fault.Invalid, `{"schema_version":2}`: fault.Unsupported} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, "llm-assignments.json"), []byte(text), 0o600))
		if _, err := profiles.ReadAssignments(nil, dir); fault.KindOf(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	if none, err := profiles.ReadAssignments(nil, filepath.Join(t.TempDir(), "x")); err != nil || none.Services != nil {
		t.Errorf("%v, %v", none, err)
	}
}

func TestProfilesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	s, _ := saved(t, nil)
	price := 1.0
	for name, p := range map[string]profiles.Profile{
		"a key as a variable": profile("m", spec.LLMExtras{}, keyEnv("sk-1")),
		"two keys":            profile("m", spec.LLMExtras{}, keyEnv("A"), keyFile("/b")),
		"a key and a file":    profile("m", spec.LLMExtras{}, keyFile("/b"), set(func(l *spec.LLM) { l.APIKey = "sk-1" })),
		"a relative file":     profile("m", spec.LLMExtras{}, keyFile("b")),
		"one price":           profile("m", spec.LLMExtras{}, set(func(l *spec.LLM) { l.InputCostPerToken = &price })),
		"a negative limit":    profile("m", spec.LLMExtras{ContextLimit: -1}),
		"a negative time":     profile("m", spec.LLMExtras{ConnectTimeout: -1}),
		"a long keep-alive":   profile("m", spec.LLMExtras{KeepAlive: 1e9}),
		"a strange fallback":  profile("m", spec.LLMExtras{Fallback: []string{"../x"}}),
		"a strange protocol":  profile("m", spec.LLMExtras{}, set(func(l *spec.LLM) { l.APIMode = "grpc" })),
		"no model":            profile("", spec.LLMExtras{}),
	} {
		if err := s.LLMs.SaveProfile(t.Context(), "p", p); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExtrasStay saves an LLM over a profile, as the web page does.
func TestExtrasStay(t *testing.T) {
	t.Parallel()
	s, _ := saved(t, map[string]profiles.Profile{
		"other": profile("ollama/x", spec.LLMExtras{}),
		"p":     profile("ollama/x", spec.LLMExtras{Fallback: []string{"other"}}, keyEnv("MINE")),
	})
	l := spec.NewLLM("ollama/y")
	l.Timeout = nil
	for _, tt := range []struct{ key, env string }{{"", "MINE"}, {"sk-new", ""}} {
		l.APIKey = ""
		if tt.key != "" {
			l.APIKey = "sk-new"
		}
		must.Succeed(t, s.LLMs.Save(t.Context(), "p", l, true))
		p, err := s.LLMs.Profile(t.Context(), "p")
		must.Succeed(t, err)
		if diff := cmp.Diff([]string{"other"}, p.LLM.Profiles()); diff != "" || p.KeyEnv != tt.env || p.LLM.Model != "ollama/y" || p.LLM.Timeout != nil {
			t.Errorf("timeout %v: %s", p.LLM.Timeout, diff)
		}
	}
}
