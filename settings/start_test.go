package settings_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/agentsettings"
)

// TestCommonLLM is for users who have never chosen an LLM, and for them only.
func TestCommonLLM(t *testing.T) {
	t.Parallel()
	open := func(common *schema.Map) *settings.Service {
		s, err := settings.Open(t.Context(), settings.Options{Dir: t.TempDir(), CommonLLM: common})
		must.Succeed(t, err)
		return s
	}
	model := schema.Of("model", "openai/gpt-5", "api_key", "sk-1")
	with, without := open(model), open(nil)
	for name, c := range map[string]struct {
		llm  *schema.Map // of the settings
		want string
	}{
		"nothing":         {schema.NewMap(), "openai/gpt-5 sk-1"},
		"a timeout":       {schema.Of("timeout", schema.Count(9)), "openai/gpt-5 sk-1"},
		"another model":   {schema.Of("model", "a/b"), "a/b "},
		"a key":           {schema.Of("api_key", "sk-2"), " sk-2"},
		"an own server":   {schema.Of("base_url", "http://h"), " "},
		"only its server": {schema.Of("model", "a/b", "base_url", "http://h"), "a/b "},
	} {
		agent := agentsettings.Settings.Of["openhands"].Defaults()
		had := agent.Object("llm").Copy()
		for _, key := range c.llm.Keys() {
			had.Set(key, c.llm.Get(key))
		}
		agent.Set("llm", had)
		before := agent.Object("llm").Text("model")
		if c.want[0] == ' ' {
			c.want = before + c.want
		}
		got := with.WithCommonLLM(agent).Object("llm")
		if text := got.Text("model") + " " + got.Text("api_key"); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
		if agent.Object("llm").Text("model") != before {
			t.Errorf("%s: the settings were changed", name)
		}
		if without.WithCommonLLM(agent) != agent {
			t.Errorf("%s: changed without a model", name)
		}
	}
}
