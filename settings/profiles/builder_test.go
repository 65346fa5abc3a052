package profiles_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/openai"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// fake is a model without a provider.
type fake struct {
	name string
	gen  func(llm.Request) (*llm.Response, error)
}

func (f *fake) Info() llm.Info { return llm.Info{Name: f.name} }

func (f *fake) Generate(_ context.Context, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	return f.gen(r)
}

// profile returns a profile of a model; changes may be nil.
func profile(model string, x spec.LLMExtras, changes ...func(*profiles.Profile)) profiles.Profile {
	l := spec.NewLLM(model)
	l.ReasoningEffort = nil
	l.Deft = &x
	p := profiles.Profile{LLM: l}
	for _, change := range changes {
		change(&p)
	}
	return p
}

func keyEnv(name string) func(*profiles.Profile) {
	return func(p *profiles.Profile) { p.KeyEnv = name }
}
func keyFile(path string) func(*profiles.Profile) {
	return func(p *profiles.Profile) { p.KeyFile = path }
}

// set changes the LLM of a profile.
func set(change func(*spec.LLM)) func(*profiles.Profile) {
	return func(p *profiles.Profile) { change(p.LLM) }
}

func at(url string) func(*profiles.Profile) { return set(func(l *spec.LLM) { l.BaseURL = &url }) }

// saved returns stores with profiles, and their directory.
func saved(t *testing.T, all map[string]profiles.Profile) (*profiles.Stores, string) {
	t.Helper()
	dir := t.TempDir()
	s := profiles.Open(profiles.Options{Dir: dir, Keys: keyring.New("k"), Env: func(k string) string {
		return map[string]string{"MINE": "sk-mine", "OPENAI_API_KEY": "sk-usual", "TWO": "a b"}[k]
	}})
	for name, p := range all {
		must.Succeed(t, s.LLMs.SaveProfile(t.Context(), name, p))
	}
	return s, dir
}

// opened makes a builder whose adapters are fakes, and keeps their arguments.
func opened(t *testing.T, all map[string]profiles.Profile) (*profiles.Builder, *[]llm.Config) {
	t.Helper()
	s, _ := saved(t, all)
	var got []llm.Config
	return &profiles.Builder{
		Profiles: s.LLMs,
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

// build makes the model of a profile as programs do.
func build(ctx context.Context, b *profiles.Builder, name string) (llm.Model, error) {
	p, err := b.Profiles.Profile(ctx, name)
	if err != nil {
		return nil, err
	}
	var usual []string
	if b.KeyVariables != nil {
		usual = b.KeyVariables(p.LLM.Model)
	}
	l, err := b.Profiles.LoadWithKey(ctx, name, usual)
	if err != nil {
		return nil, err
	}
	var again func() (llm.Secret, error)
	if p.KeyFile != "" {
		again = func() (llm.Secret, error) {
			l, err := b.Profiles.LoadWithKey(ctx, name, usual)
			if err != nil {
				return "", err
			}
			return l.APIKey, nil
		}
	}
	return b.Model(ctx, l, again)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	must.Succeed(t, os.WriteFile(file, []byte("sk-file\n"), 0o600))
	for name, tt := range map[string]struct {
		p    profiles.Profile
		want string
		err  fault.Kind
	}{
		"a variable":         {p: profile("openai/x", spec.LLMExtras{}, keyEnv("MINE")), want: "sk-mine"},
		"an empty variable":  {p: profile("openai/x", spec.LLMExtras{}, keyEnv("EMPTY")), err: fault.Auth},
		"a variable of two":  {p: profile("openai/x", spec.LLMExtras{}, keyEnv("TWO")), err: fault.Auth},
		"a file":             {p: profile("openai/x", spec.LLMExtras{}, keyFile(file)), want: "sk-file"},
		"a missing file":     {p: profile("openai/x", spec.LLMExtras{}, keyFile(file+"x")), err: fault.Auth},
		"sealed":             {p: profile("openai/x", spec.LLMExtras{}, set(func(l *spec.LLM) { l.APIKey = "sk-sealed" })), want: "sk-sealed"},
		"the provider's own": {p: profile("openai/x", spec.LLMExtras{}), want: "sk-usual"},
		"none needed":        {p: profile("ollama/x", spec.LLMExtras{}), want: ""},
	} {
		b, got := opened(t, map[string]profiles.Profile{"p": tt.p})
		_, err := build(t.Context(), b, "p")
		if tt.err != "" {
			if fault.KindOf(err) != tt.err {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || len(*got) != 1 || (*got)[0].APIKey.Reveal() != tt.want {
			t.Errorf("%s: %v", name, err)
		}
		if l, err := b.Profiles.Load(t.Context(), "p"); tt.want != "sk-usual" && (err != nil || l.APIKey.Reveal() != tt.want) {
			t.Errorf("%s: loaded with another key: %v", name, err)
		}
	}
}

// TestKeyFileThatChanges replaces the key while the model is in use.
// TestLostKey: a profile whose key no secret key opens is not used without it, nor with the
// usual key of its provider, whoever names the profile.
func TestLostKey(t *testing.T) {
	t.Parallel()
	secret := llm.Secret("sk-sealed")
	_, dir := saved(t, map[string]profiles.Profile{
		"p": profile("openai/x", spec.LLMExtras{}, set(func(l *spec.LLM) { l.APIKey = secret })),
	})
	other := profiles.Open(profiles.Options{Dir: dir, Keys: keyring.New("another"), Env: func(string) string { return "sk-usual" }})
	b := &profiles.Builder{
		Profiles: other.LLMs, KeyVariables: func(string) []string { return []string{"OPENAI_API_KEY"} },
		Open: func(c llm.Config) (llm.Model, error) {
			t.Errorf("it is used with the key %q", c.APIKey.Reveal())
			return &fake{name: c.Model}, nil
		},
	}
	if _, err := b.Single(t.Context(), "p"); !errors.Is(err, schema.ErrSealed) {
		t.Errorf("Single: %v", err)
	}
	if _, err := build(t.Context(), b, "p"); !errors.Is(err, schema.ErrSealed) {
		t.Errorf("Model: %v", err)
	}
}

func TestKeyFileThatChanges(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	write := func(key string) {
		must.Succeed(t, os.WriteFile(file, []byte(key), 0o600))
	}
	write("sk-first-0123456789")
	srv := llmtest.StartWith(t, &llmtest.Script{APIKey: "sk-second-0123456789", Turns: []llmtest.Turn{{Repeat: llmtest.Forever, Reply: llmtest.Reply{Text: "ok"}}}},
		llmtest.Options{AllowErrors: true})
	b, _ := opened(t, map[string]profiles.Profile{"p": profile("vllm/x", spec.LLMExtras{}, keyFile(file), at(srv.URL+"/v1"))})
	b.Open = func(c llm.Config) (llm.Model, error) { return openai.New(c) }
	m, err := build(t.Context(), b, "p")
	must.Succeed(t, err)
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

func TestConfigOfAProfile(t *testing.T) {
	t.Parallel()
	in, out, window, idle, timeout, version := 1e-6, 2e-6, 5, 3.0, 2, "v1"
	b, got := opened(t, map[string]profiles.Profile{"p": profile("vllm/x",
		spec.LLMExtras{Timeout: 1.5, FirstTokenTimeout: 2, ConnectTimeout: 4, ContextLimit: 6, KeepAlive: -1}, at("http://h/v1"),
		set(func(l *spec.LLM) {
			l.Timeout, l.StreamIdleTimeout, l.MaxInputTokens, l.APIMode, l.APIVersion = &timeout, &idle, &window, "responses", &version
			l.InputCostPerToken, l.OutputCostPerToken = &in, &out
		}))})
	b.Complete = func(c *llm.Config) { c.Headers = map[string]string{"X": "y"} }
	if _, err := build(t.Context(), b, "p"); err != nil {
		t.Fatal(err)
	}
	c := (*got)[0]
	want := llm.Config{
		Model: "vllm/x", BaseURL: "http://h/v1", Timeout: 1500 * time.Millisecond, FirstTimeout: 2 * time.Second,
		IdleTimeout: 3 * time.Second, ConnectTimeout: 4 * time.Second, Headers: map[string]string{"X": "y"},
		API: "responses", APIVersion: "v1", ContextLimit: 6, KeepAlive: -time.Second, CacheRetention: "24h",
		Info: llm.Info{ContextWindow: 5, Price: llm.Price{Known: true, Input: 1, CacheRead: 1, CacheWrite: 1, Output: 2}},
	}
	c.Quirks = nil
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultsOfRequests(t *testing.T) {
	t.Parallel()
	half, zero, high, seven := 0.5, 0.0, "high", 7
	b, _ := opened(t, map[string]profiles.Profile{"p": profile("ollama/x", spec.LLMExtras{}, set(func(l *spec.LLM) {
		l.ReasoningEffort, l.MaxOutputTokens, l.Temperature, l.TopP = &high, &seven, &half, &half
	}))})
	var got []llm.Request
	b.Open = func(c llm.Config) (llm.Model, error) {
		return &fake{name: c.Model, gen: func(r llm.Request) (*llm.Response, error) {
			got = append(got, r)
			return &llm.Response{}, nil
		}}, nil
	}
	m, err := build(t.Context(), b, "p")
	must.Succeed(t, err)
	for _, r := range []llm.Request{{}, {ReasoningEffort: "low", MaxOutputTokens: 3, Temperature: &zero, TopP: &zero}} {
		if _, err := llm.Complete(t.Context(), m, r, nil); err != nil {
			t.Fatal(err)
		}
	}
	want := []llm.Request{
		{ReasoningEffort: "high", MaxOutputTokens: 7, Temperature: &half, TopP: &half, NoStream: true},
		{ReasoningEffort: "low", MaxOutputTokens: 3, Temperature: &zero, TopP: &zero, NoStream: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestChainsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]profiles.Profile{
		"twice":           profile("ollama/x", spec.LLMExtras{Fallback: []string{"q", "q"}}),
		"blind for sight": profile("ollama/x", spec.LLMExtras{Vision: "q"}),
	} {
		b, _ := opened(t, map[string]profiles.Profile{"p": p, "q": profile("ollama/y", spec.LLMExtras{})})
		if _, err := build(t.Context(), b, "p"); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	b, _ := opened(t, map[string]profiles.Profile{"p": profile("ollama/x", spec.LLMExtras{Fallback: []string{"nobody"}})})
	if err := b.Profiles.SaveProfile(t.Context(), "own.json", profile("ollama/x", spec.LLMExtras{Fallback: []string{"own"}})); fault.KindOf(err) != fault.Invalid {
		t.Errorf("its own fallback: %v", err)
	}
	for _, name := range []string{"p", "nobody"} {
		if _, err := build(t.Context(), b, name); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestProfileEndToEnd runs a profile with a fallback and a model for images
// against scripted servers: retries as the profile says, then the fallback.
func TestProfileEndToEnd(t *testing.T) {
	t.Parallel()
	down := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{{Repeat: llmtest.Forever, Fault: &llmtest.Fault{Kind: llmtest.ServerError}}}})
	up := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{{Repeat: llmtest.Forever, Reply: llmtest.Reply{Text: "from the other"}}}})
	seeing := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{{Repeat: llmtest.Forever, Reply: llmtest.Reply{Text: "red"}}}})
	b, _ := opened(t, map[string]profiles.Profile{
		"p":     profile("vllm/x", spec.LLMExtras{Fallback: []string{"other"}, Vision: "sight"}, at(down.URL+"/v1"), set(func(l *spec.LLM) { l.NumRetries = 3 })),
		"other": profile("vllm/y", spec.LLMExtras{}, at(up.URL+"/v1")),
		"sight": profile("vllm/z", spec.LLMExtras{}, at(seeing.URL+"/v1")),
	})
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	b.Complete = func(c *llm.Config) { c.HTTPClient = client }
	b.Open = func(c llm.Config) (llm.Model, error) { return openai.New(c) }
	b.Broker.Sleep = func(context.Context, time.Duration) error { return nil }
	b.Breakers = broker.NewBreakers(broker.BreakerOptions{Failures: 3, Cooldown: time.Hour})
	var moves []string
	b.OnSwitch = func(s broker.Switched) { moves = append(moves, s.From.Name+">"+s.To.Name) }
	m, err := build(t.Context(), b, "p")
	must.Succeed(t, err)
	ask := func(c ...event.Content) string {
		resp, err := llm.Complete(t.Context(), m, llm.Request{Messages: []event.Message{{Role: event.RoleUser, Content: c}}}, nil)
		must.Succeed(t, err)
		return event.JoinText(resp.Message.Content)
	}
	if got := ask(event.Text("?")); got != "from the other" || down.Count() != 3 {
		t.Errorf("%q after %d tries", got, down.Count())
	}
	// The endpoint that failed three times is left alone now, by all its models.
	if got := ask(event.Text("?")); got != "from the other" || down.Count() != 3 {
		t.Errorf("%q after %d tries", got, down.Count())
	}
	if !b.Breakers.For(down.URL + "/v1").Open() {
		t.Error("the breaker is closed")
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

// TestStreamingIsTheProfiles holds each model of a chain to its own setting.
func TestStreamingIsTheProfiles(t *testing.T) {
	t.Parallel()
	b, _ := opened(t, map[string]profiles.Profile{
		"p": profile("ollama/x", spec.LLMExtras{Fallback: []string{"q"}}, set(func(l *spec.LLM) { l.Stream, l.NumRetries = true, 1 })),
		"q": profile("ollama/y", spec.LLMExtras{}),
	})
	got := map[string]bool{}
	b.Open = func(c llm.Config) (llm.Model, error) {
		return &fake{name: c.Model, gen: func(r llm.Request) (*llm.Response, error) {
			got[c.Model] = !r.NoStream
			if c.Model == "ollama/x" {
				return nil, llm.NewError(fault.Unavailable, "ollama", c.Model, "down", nil)
			}
			return &llm.Response{}, nil
		}}, nil
	}
	m, err := build(t.Context(), b, "p")
	must.Succeed(t, err)
	if _, err := llm.Complete(t.Context(), m, llm.Request{}, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{"ollama/x": true, "ollama/y": false}, got); diff != "" {
		t.Error(diff)
	}
}

// TestPriceUnderALimit refuses a model of unknown price anywhere in a chain.
func TestPriceUnderALimit(t *testing.T) {
	t.Parallel()
	b, _ := opened(t, map[string]profiles.Profile{"p": profile("known", spec.LLMExtras{Fallback: []string{"q"}}), "q": profile("unknown", spec.LLMExtras{})})
	b.Broker.Budget, b.Priced = broker.NewBudget(1), true
	b.Open = func(c llm.Config) (llm.Model, error) {
		return priced{&fake{name: c.Model}, c.Model == "known"}, nil
	}
	if _, err := build(t.Context(), b, "p"); fault.KindOf(err) != fault.Invalid || fault.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	if _, err := b.Single(t.Context(), "p"); err != nil {
		t.Error(err)
	}
}

type priced struct {
	*fake
	known bool
}

func (p priced) Info() llm.Info {
	i := p.fake.Info()
	i.Price.Known = p.known
	return i
}

// TestChangeWhileMany makes models of profiles, stores and assigns profiles from many
// goroutines at once; it is for the race detector.
func TestChangeWhileMany(t *testing.T) {
	t.Parallel()
	const users, each = 8, 40
	stores, _ := saved(t, map[string]profiles.Profile{"a": profile("ollama/a", spec.LLMExtras{Fallback: []string{"b"}}), "b": profile("ollama/b", spec.LLMExtras{})})
	b := &profiles.Builder{Profiles: stores.LLMs}
	b.Open = func(c llm.Config) (llm.Model, error) {
		return &fake{name: c.Model, gen: func(llm.Request) (*llm.Response, error) { return &llm.Response{Model: c.Model}, nil }}, nil
	}
	b.Breakers = broker.NewBreakers(broker.BreakerOptions{})
	b.Broker.Budget = nil
	var wg sync.WaitGroup
	for i := range users {
		wg.Go(func() {
			for n := range each {
				m, err := build(context.Background(), b, []string{"a", "b"}[n%2])
				if err == nil {
					_, err = llm.Complete(context.Background(), m, llm.Request{Session: fmt.Sprint(i)}, nil)
				}
				must.Report(t, err)
			}
		})
	}
	for _, name := range []string{"a", "b"} {
		wg.Go(func() {
			for range each / 4 {
				err := errors.Join(stores.Assign(context.Background(), profiles.AgentService, false, name),
					stores.LLMs.SaveProfile(context.Background(), "b", profile("ollama/b", spec.LLMExtras{})))
				must.Report(t, err)
			}
		})
	}
	wg.Wait()
}
