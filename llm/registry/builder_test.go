package registry_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/openai"
	"github.com/deft-dev/deft/llm/registry"
)

// ring is a cipher for tests.
type ring struct{}

func (ring) Seal(b []byte) (string, error) { return base64.StdEncoding.EncodeToString(b), nil }
func (ring) Open(s string) ([]byte, error) { return base64.StdEncoding.DecodeString(s) }

// opened makes a builder whose adapters are fakes, and keeps what they got.
func opened(t *testing.T, all map[string]registry.Profile) (*registry.Builder, *[]llm.Config) {
	t.Helper()
	s, _ := profiles(t)
	for name, p := range all {
		if err := s.Put(t.Context(), name, p); err != nil {
			t.Fatal(err)
		}
	}
	var got []llm.Config
	return &registry.Builder{
		Profiles: s, Env: func(k string) string {
			return map[string]string{"MINE": "sk-mine", "OPENAI_API_KEY": "sk-usual", "TWO": "a b"}[k]
		},
		KeyVariables: func(model string) []string {
			if strings.HasPrefix(model, "openai/") {
				return []string{"NOT_SET", "OPENAI_API_KEY"}
			}
			return nil
		},
		Open: func(c llm.Config) (llm.Model, error) {
			got = append(got, c)
			return &fake{name: c.Model}, nil
		},
	}, &got
}

func TestKeys(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("sk-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sealed := registry.Profile{Model: "openai/x"}
	if err := sealed.Seal("sk-sealed", ring{}); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		p      registry.Profile
		cipher registry.Cipher
		want   string
		err    fault.Kind
	}{
		"a variable":           {p: registry.Profile{Model: "openai/x", APIKeyEnv: "MINE"}, want: "sk-mine"},
		"a variable of none":   {p: registry.Profile{Model: "openai/x", APIKeyEnv: "EMPTY"}, err: fault.Auth},
		"a variable of two":    {p: registry.Profile{Model: "openai/x", APIKeyEnv: "TWO"}, err: fault.Auth},
		"a file":               {p: registry.Profile{Model: "openai/x", APIKeyFile: file}, want: "sk-file"},
		"a file that is not":   {p: registry.Profile{Model: "openai/x", APIKeyFile: file + "x"}, err: fault.Auth},
		"a relative file":      {p: registry.Profile{Model: "openai/x", APIKeyFile: "key"}, err: fault.Invalid},
		"sealed":               {p: sealed, cipher: ring{}, want: "sk-sealed"},
		"sealed, without ring": {p: sealed, err: fault.Auth},
		"the provider's own":   {p: registry.Profile{Model: "openai/x"}, want: "sk-usual"},
		"none needed":          {p: registry.Profile{Model: "ollama/x"}, want: ""},
	} {
		b, got := opened(t, map[string]registry.Profile{"p": tt.p})
		b.Cipher = tt.cipher
		_, err := b.Build("p")
		if tt.err != "" {
			if fault.KindOf(err) != tt.err {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || len(*got) != 1 || (*got)[0].APIKey.Reveal() != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := sealed.Seal("sk", nil); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("sealed with nothing: %v", err)
	}
}

// TestKeyFileThatChanges replaces the key while the model is in use.
func TestKeyFileThatChanges(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	write := func(key string) {
		if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("sk-first-0123456789")
	srv := llmtest.StartWith(t, &llmtest.Script{APIKey: "sk-second-0123456789", Turns: []llmtest.Turn{{Repeat: llmtest.Forever, Reply: llmtest.Reply{Text: "ok"}}}},
		llmtest.Options{AllowErrors: true})
	b, _ := opened(t, map[string]registry.Profile{"p": {Model: "vllm/x", BaseURL: srv.URL + "/v1", APIKeyFile: file}})
	b.Open = func(c llm.Config) (llm.Model, error) { return openai.New(c) }
	m, err := b.Build("p")
	if err != nil {
		t.Fatal(err)
	}
	r := llm.Request{Messages: []event.Message{{Role: event.RoleUser, Content: event.Texts("?")}}}
	if _, err := llm.Complete(t.Context(), m, r, nil); fault.KindOf(err) != fault.Auth || srv.Count() != 1 {
		t.Errorf("the same key: %v after %d calls", err, srv.Count())
	}
	write("sk-second-0123456789")
	for range 2 {
		if _, err := llm.Complete(t.Context(), m, r, nil); err != nil {
			t.Errorf("a new key: %v", err)
		}
	}
	if srv.Count() != 4 {
		t.Errorf("%d calls, want 4", srv.Count())
	}
}

func TestProfileConfig(t *testing.T) {
	t.Parallel()
	in, out := 1.0, 2.0
	b, got := opened(t, map[string]registry.Profile{"p": {
		Model: "vllm/x", BaseURL: "http://h/v1", Timeout: 1.5, FirstTokenTimeout: 2, StreamIdleTimeout: 3, ConnectTimeout: 4,
		ContextWindow: 5, InputPrice: &in, OutputPrice: &out, API: "responses", APIVersion: "v1", ContextLimit: 6, KeepAlive: -1,
		CacheRetention: "24h",
	}})
	b.Complete = func(c *llm.Config, p registry.Profile) {
		c.Quirks = &llm.Quirks{CacheRetention: p.CacheRetention == registry.RetentionDay}
	}
	if _, err := b.Build("p"); err != nil {
		t.Fatal(err)
	}
	want := llm.Config{
		Model: "vllm/x", BaseURL: "http://h/v1", Timeout: 1500 * time.Millisecond, FirstTimeout: 2 * time.Second,
		IdleTimeout: 3 * time.Second, ConnectTimeout: 4 * time.Second,
		API: "responses", APIVersion: "v1", ContextLimit: 6, KeepAlive: -time.Second, Quirks: &llm.Quirks{CacheRetention: true},
		Info: llm.Info{ContextWindow: 5, Price: llm.Price{Known: true, Input: 1, CacheRead: 1, CacheWrite: 1, Output: 2}},
	}
	if diff := cmp.Diff(want, (*got)[0]); diff != "" {
		t.Error(diff)
	}
}

func TestRequestDefaults(t *testing.T) {
	t.Parallel()
	half, zero := 0.5, 0.0
	b, _ := opened(t, map[string]registry.Profile{"p": {Model: "ollama/x", ReasoningEffort: "high", MaxOutputTokens: 7, Temperature: &half, TopP: &half}})
	var got []llm.Request
	b.Open = func(c llm.Config) (llm.Model, error) {
		return &fake{name: c.Model, gen: func(r llm.Request) (*llm.Response, error) {
			got = append(got, r)
			return &llm.Response{}, nil
		}}, nil
	}
	m, err := b.Build("p")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []llm.Request{{}, {ReasoningEffort: "low", MaxOutputTokens: 3, Temperature: &zero, TopP: &zero}} {
		if _, err := llm.Complete(t.Context(), m, r, nil); err != nil {
			t.Fatal(err)
		}
	}
	want := []llm.Request{
		{ReasoningEffort: "high", MaxOutputTokens: 7, Temperature: &half, TopP: &half},
		{ReasoningEffort: "low", MaxOutputTokens: 3, Temperature: &zero, TopP: &zero},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidChains(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]registry.Profile{
		"itself":          {Model: "ollama/x", Fallback: []string{"p"}},
		"twice":           {Model: "ollama/x", Fallback: []string{"q", "q"}},
		"blind for sight": {Model: "ollama/x", Vision: "q"},
	} {
		b, _ := opened(t, map[string]registry.Profile{"p": p, "q": {Model: "ollama/y"}})
		if _, err := b.Build("p"); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	b, _ := opened(t, map[string]registry.Profile{"p": {Model: "ollama/x", Fallback: []string{"nobody"}}})
	for _, name := range []string{"p", "nobody"} {
		if _, err := b.Build(name); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestProfileEndToEnd runs a profile with a fallback and a vision model against
// scripted servers: the retries of the profile, then the fallback.
func TestProfileEndToEnd(t *testing.T) {
	t.Parallel()
	down := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{{Repeat: llmtest.Forever, Fault: &llmtest.Fault{Kind: llmtest.ServerError}}}})
	up := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{{Repeat: llmtest.Forever, Reply: llmtest.Reply{Text: "from the other"}}}})
	seeing := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{{Repeat: llmtest.Forever, Reply: llmtest.Reply{Text: "red"}}}})
	b, _ := opened(t, map[string]registry.Profile{
		"p":     {Model: "vllm/x", BaseURL: down.URL + "/v1", NumRetries: 3, Fallback: []string{"other"}, Vision: "sight"},
		"other": {Model: "vllm/y", BaseURL: up.URL + "/v1"},
		"sight": {Model: "vllm/z", BaseURL: seeing.URL + "/v1"},
	})
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	b.HTTPClient = func(registry.Profile, llm.Secret) *http.Client { return client }
	b.Open = func(c llm.Config) (llm.Model, error) { return openai.New(c) }
	b.Broker.Sleep = func(context.Context, time.Duration) error { return nil }
	b.Breakers = broker.NewBreakers(broker.BreakerOptions{Failures: 3, Cooldown: time.Hour})
	var moves []string
	b.OnSwitch = func(s broker.Switched) { moves = append(moves, s.From.Name+">"+s.To.Name) }
	m, err := b.Build("p")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(c ...event.Content) string {
		resp, err := llm.Complete(t.Context(), m, llm.Request{Messages: []event.Message{{Role: event.RoleUser, Content: c}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return event.JoinText(resp.Message.Content)
	}
	if got := ask(event.Text("?")); got != "from the other" || down.Count() != 3 {
		t.Errorf("%q after %d tries", got, down.Count())
	}
	// The endpoint failed three times and gets no more calls, from any model.
	if got := ask(event.Text("?")); got != "from the other" || down.Count() != 3 {
		t.Errorf("%q after %d tries", got, down.Count())
	}
	if s := b.Breakers.For(down.URL + "/v1").State(); s != broker.Open {
		t.Errorf("the breaker is %s", s)
	}
	picture := event.Content{Type: event.TypeImage, ImageURLs: []string{"data:image/png;base64,iVBORw0KGgo="}}
	if got := ask(picture, event.Text("?")); got != "red" {
		t.Errorf("an image: %q", got)
	}
	// A router is described by its seeing model.
	if diff := cmp.Diff([]string{"vllm/z>vllm/y", "vllm/z>vllm/y"}, moves); diff != "" {
		t.Error(diff)
	}
}
