package modelchoice

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// variables reads an environment.
func variables(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

// TestKeep decides which values a conversation that goes on takes over from its
// flags of before.
func TestKeep(t *testing.T) {
	t.Parallel()
	in, out, otherIn, otherOut := 1.0, 2.0, 3.0, 4.0
	old := Flags{
		Model: "a/b", BaseURL: "http://old", APIKeyEnv: "OLD_KEY", InputPrice: &in, OutputPrice: &out, Effort: "low",
		API: "chat", ContextLimit: 100, KeepAlive: time.Minute, CacheRetention: "24h",
	}
	for _, c := range []struct {
		name       string
		given, old Flags
		env        string // LLM_MODEL
		want       Flags
	}{
		{"nothing given", Flags{}, old, "", old},
		{"the same model", Flags{Model: "a/b"}, old, "", old},
		{"from the environment", Flags{Model: "a/b"}, old, "a/b", old},
		{"another model takes nothing over", Flags{Model: "c/d"}, old, "", Flags{Model: "c/d"}},
		{"another key", Flags{APIKeyFile: "/key"}, Flags{Model: "a/b", APIKeyEnv: "OLD_KEY"}, "", Flags{Model: "a/b", APIKeyFile: "/key"}},
		{
			"other prices and limits", Flags{InputPrice: &otherIn, OutputPrice: &otherOut, Effort: "high", ContextLimit: 7, KeepAlive: time.Hour, API: "responses", CacheRetention: "short"}, old, "",
			Flags{
				Model: "a/b", BaseURL: "http://old", APIKeyEnv: "OLD_KEY", InputPrice: &otherIn, OutputPrice: &otherOut, Effort: "high",
				API: "responses", ContextLimit: 7, KeepAlive: time.Hour, CacheRetention: "short",
			},
		},
		{"another address", Flags{BaseURL: "http://new"}, Flags{Model: "a/b", BaseURL: "http://old"}, "", Flags{Model: "a/b", BaseURL: "http://new"}},
		{"a profile goes before", Flags{Profile: "p"}, old, "", Flags{Profile: "p"}},
		{"the profile is kept", Flags{}, Flags{Profile: "p", Effort: "low"}, "", Flags{Profile: "p", Effort: "low"}},
		{"whatever the environment says", Flags{Model: "e/e", Effort: "high"}, Flags{Profile: "p", Effort: "low"}, "e/e", Flags{Model: "e/e", Profile: "p", Effort: "high"}},
		{"a model leaves the profile", Flags{Model: "c/d"}, Flags{Profile: "p", Effort: "low"}, "e/e", Flags{Model: "c/d"}},
	} {
		got := c.given
		got.keep(c.old, variables(map[string]string{"LLM_MODEL": c.env}))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestCheckProfile(t *testing.T) {
	t.Parallel()
	price := 1.0
	env := map[string]string{"LLM_MODEL": "e/e", "LLM_BASE_URL": "http://env"}
	for name, f := range map[string]Flags{
		"model": {Model: "a/b"}, "address": {BaseURL: "http://given"}, "variable": {APIKeyEnv: "K"}, "file": {APIKeyFile: "/k"}, "price": {InputPrice: &price},
		"other price": {OutputPrice: &price}, "protocol": {API: "chat"}, "context": {ContextLimit: 1}, "keep alive": {KeepAlive: 1}, "retention": {CacheRetention: "short"},
	} {
		f.Profile = "p"
		if err := f.checkProfile(variables(env)); !fault.Is(err, fault.Invalid) || !strings.Contains(fault.HintOf(err), "deft llm profile set p") {
			t.Errorf("%s: %v", name, err)
		}
		f.Profile = ""
		if err := f.checkProfile(variables(env)); err != nil {
			t.Errorf("%s without a profile: %v", name, err)
		}
	}
	f := Flags{Profile: "p", Model: "e/e", BaseURL: "http://env", Effort: "low"}
	if err := f.checkProfile(variables(env)); err != nil || f != (Flags{Profile: "p", Effort: "low"}) {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestCheckModelFlags(t *testing.T) {
	t.Parallel()
	price, free, negative := 1.0, 0.0, -1.0
	for _, c := range []struct {
		name string
		f    Flags
		want string // a part of the error; "" for none
	}{
		{"model", Flags{Model: "a/b"}, ""},
		{"prices", Flags{Model: "a/b", InputPrice: &free, OutputPrice: &price}, ""},
		{"no model", Flags{}, "no model is chosen"},
		{"password", Flags{Model: "a/b", BaseURL: "http://me:hidden@host"}, "must not hold a user or a password"},
		{"one price", Flags{Model: "a/b", InputPrice: &price}, "must both be given"},
		{"other price", Flags{Model: "a/b", OutputPrice: &price}, "must both be given"},
		{"negative price", Flags{Model: "a/b", InputPrice: &price, OutputPrice: &negative}, "not be negative"},
		{"negative limit", Flags{Model: "a/b", ContextLimit: -1}, "--context-limit"},
	} {
		err := c.f.check(variables(nil))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) || fault.HintOf(err) == ""):
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil && strings.Contains(err.Error()+fault.HintOf(err), "hidden") {
			t.Errorf("%s: the password is shown: %v", c.name, err)
		}
	}
}

// TestKey finds keys where they may be, and never shows one that is refused.
func TestKey(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	must.Succeed(t, os.WriteFile(file, []byte("from-file\n"), 0o600))
	bad := filepath.Join(t.TempDir(), "bad")
	must.Succeed(t, os.WriteFile(bad, []byte("two words-unwanted"), 0o600))
	for _, c := range []struct {
		name string
		f    Flags
		env  map[string]string
		want string
		kind fault.Kind // of the error
	}{
		{"file", Flags{Model: "anthropic/x", APIKeyFile: file}, map[string]string{"LLM_API_KEY": "other"}, "from-file", ""},
		{"no such file", Flags{Model: "anthropic/x", APIKeyFile: file + "-unwanted"}, nil, "", fault.Invalid},
		{"file without a key", Flags{Model: "anthropic/x", APIKeyFile: bad}, nil, "", fault.Invalid},
		{"file and variable", Flags{Model: "anthropic/x", APIKeyFile: file, APIKeyEnv: "K"}, nil, "", fault.Invalid},
		{"variable", Flags{Model: "anthropic/x", APIKeyEnv: "K"}, map[string]string{"K": " named ", "LLM_API_KEY": "other"}, "named", ""},
		{"empty variable", Flags{Model: "anthropic/x", APIKeyEnv: "K"}, map[string]string{"LLM_API_KEY": "other"}, "", fault.Invalid},
		{"a key as the variable", Flags{Model: "anthropic/x", APIKeyEnv: "sk-unwanted"}, nil, "", fault.Invalid},
		{"LLM_API_KEY first", Flags{Model: "anthropic/x"}, map[string]string{"LLM_API_KEY": "general", "ANTHROPIC_API_KEY": "own"}, "general", ""},
		{"the provider's own", Flags{Model: "anthropic/x"}, map[string]string{"ANTHROPIC_API_KEY": "own"}, "own", ""},
		{"odd characters", Flags{Model: "anthropic/x"}, map[string]string{"LLM_API_KEY": "unwanted\x1b[2J"}, "", fault.Invalid},
		{"none", Flags{Model: "anthropic/x"}, nil, "", fault.Auth},
		{"none for a server of one's own", Flags{Model: "anthropic/x", BaseURL: "http://127.0.0.1"}, nil, "", ""},
	} {
		got, err := c.f.key(variables(c.env))
		if c.kind == "" && err != nil || c.kind != "" && !fault.Is(err, c.kind) || string(got) != c.want {
			t.Errorf("%s: %q, %v", c.name, string(got), err)
		}
		if err != nil && c.name != "no such file" && strings.Contains(err.Error()+fault.HintOf(err), "unwanted") {
			t.Errorf("%s: shown: %v", c.name, err)
		}
	}
}

// TestNoteHasNoKey wants the kept values of a conversation to come back, and no
// key in them.
func TestNoteHasNoKey(t *testing.T) {
	t.Parallel()
	price := 1.5
	n := note{
		Flags:    Flags{Model: "a/b", BaseURL: "http://h", APIKeyEnv: "K", InputPrice: &price, OutputPrice: &price, KeepAlive: time.Minute},
		Services: map[string]string{"condenser": "p"}, Chosen: "a/b",
	}
	raw, err := json.Marshal(n)
	must.Succeed(t, err)
	want := `{"model":"a/b","base_url":"http://h","api_key_env":"K","input_price":1.5,"output_price":1.5,"keep_alive":60000000000,"services":{"condenser":"p"},"chosen":"a/b"}`
	if string(raw) != want {
		t.Errorf("%s, want %s", raw, want)
	}
	var back note
	must.Succeed(t, json.Unmarshal(raw, &back))
	if diff := cmp.Diff(n, back, cmp.AllowUnexported(note{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestKeyWithoutModel names the key that is set and the missing variable, where no model is chosen.
func TestKeyWithoutModel(t *testing.T) {
	t.Parallel()
	for want, env := range map[string]map[string]string{
		"LLM_API_KEY": nil,
		"AZURE_API_KEY is set; with it set LLM_MODEL=azure/DEPLOYMENT and AZURE_API_BASE": {"AZURE_API_KEY": "k"},
	} {
		if err := new(Flags).check(variables(env)); !fault.Is(err, fault.Invalid) || !strings.Contains(fault.HintOf(err), want) {
			t.Errorf("%v: hint %q, want %q", err, fault.HintOf(err), want)
		}
	}
}
