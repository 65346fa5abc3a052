package registry_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/registry"
)

func TestAssignments(t *testing.T) {
	t.Parallel()
	s, dir := profiles(t)
	put := func(name string, p registry.Profile) {
		t.Helper()
		p.Model = "ollama/x"
		if err := s.Put(t.Context(), name, p); err != nil {
			t.Fatal(err)
		}
	}
	put("a", registry.Profile{})
	put("b", registry.Profile{})
	put("c", registry.Profile{Fallback: []string{"b"}})
	put("d", registry.Profile{Vision: "c"})
	for _, tt := range []struct {
		service, profile string
		want             fault.Kind
	}{
		{"agent", "a", ""}, {"condenser", "a", ""}, {"condenser", "d", ""}, {"titles", "", ""},
		{"agents", "a", fault.Invalid}, {"agent", "nobody", fault.NotFound}, {"agent", "../a", fault.Invalid},
	} {
		if err := s.Assign(t.Context(), tt.service, tt.profile); err != nil && fault.KindOf(err) != tt.want || err == nil && tt.want != "" {
			t.Errorf("%s to %s: %v", tt.service, tt.profile, err)
		}
	}
	got, err := registry.Assigned(dir)
	if diff := cmp.Diff(map[string]string{"agent": "a", "condenser": "d"}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, name := range []string{"a", "b", "c", "d"} { // a service, a fallback, a vision, a service
		if err := s.Delete(t.Context(), name); fault.KindOf(err) != fault.Conflict {
			t.Errorf("%s was deleted: %v", name, err)
		}
	}
	if err := s.Assign(t.Context(), "condenser", ""); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"d", "c", "b"} {
		if err := s.Delete(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	for text, want := range map[string]fault.Kind{`{`: fault.Invalid, `{"schema_version":2}`: fault.Unsupported} {
		if err := os.WriteFile(filepath.Join(dir, "..", "services.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Services(); fault.KindOf(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	if none, err := registry.Assigned(filepath.Join(t.TempDir(), "x", "profiles")); err != nil || none != nil {
		t.Errorf("%v, %v", none, err)
	}
}

func TestStoredKey(t *testing.T) {
	t.Parallel()
	s, dir := profiles(t)
	p := registry.Profile{Model: "openai/x", APIKeyEnv: "OLD"}
	if err := errors.Join(s.PutKey("p", &p, "sk-1"), s.Put(t.Context(), "p", p)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "..", "keys", "p")
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatal(st, err)
	}
	var got llm.Config
	b := registry.Builder{Profiles: s, Env: func(string) string { return "" }, Open: func(c llm.Config) (llm.Model, error) {
		got = c
		return &fake{name: c.Model}, nil
	}}
	if _, err := b.Build("p"); err != nil || got.APIKey.Reveal() != "sk-1" {
		t.Errorf("built with another key: %v", err)
	}
	// A key from elsewhere takes its place, and the file goes.
	p.APIKeyFile, p.APIKeyEnv = "", "NEW"
	if err := s.Put(t.Context(), "p", p); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the key is still there: %v", err)
	}
	if err := errors.Join(s.PutKey("p", &p, "sk-2"), s.Put(t.Context(), "p", p), s.Delete(t.Context(), "p")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the key outlived its profile: %v", err)
	}
	for name, key := range map[string]llm.Secret{"../x": "sk", "x": "two words", "y": ""} {
		if err := s.PutKey(name, &p, key); err == nil {
			t.Errorf("stored %s", name)
		}
	}
}

// TestPriceUnderALimit refuses a model of unknown price anywhere in a chain.
func TestPriceUnderALimit(t *testing.T) {
	t.Parallel()
	b, _ := opened(t, map[string]registry.Profile{"p": {Model: "known", Fallback: []string{"q"}}, "q": {Model: "unknown"}})
	b.Broker.Budget = broker.NewBudget(1)
	b.Open = func(c llm.Config) (llm.Model, error) {
		return priced{&fake{name: c.Model}, c.Model == "known"}, nil
	}
	if _, err := b.Build("p"); fault.KindOf(err) != fault.Invalid || fault.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	if _, err := b.Single("p"); err != nil {
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

// TestConcurrentUse uses, switches, stores and assigns profiles concurrently,
// for the race detector, and checks that no call is lost.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	const users, each = 8, 40
	b, _ := opened(t, map[string]registry.Profile{"a": {Model: "ollama/a", Fallback: []string{"b"}}, "b": {Model: "ollama/b"}})
	b.Open = func(c llm.Config) (llm.Model, error) {
		return &fake{name: c.Model, gen: func(llm.Request) (*llm.Response, error) { return &llm.Response{Model: c.Model}, nil }}, nil
	}
	b.Breakers = broker.NewBreakers(broker.BreakerOptions{})
	b.Broker.Budget = nil
	r := registry.New(b.Build)
	if err := r.Use(registry.Agent, "a"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range users {
		wg.Go(func() {
			for n := range each {
				service := []string{registry.Agent, registry.Condenser}[n%2]
				if _, err := llm.Complete(context.Background(), r.Model(service), llm.Request{Session: fmt.Sprint(i)}, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, name := range []string{"a", "b"} {
		wg.Go(func() {
			for range each / 4 {
				err := errors.Join(r.Switch(registry.Agent, name), b.Profiles.Assign(context.Background(), registry.Agent, name),
					b.Profiles.Put(context.Background(), "b", registry.Profile{Model: "ollama/b"}))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if agent, condenser := r.Tally(registry.Agent), r.Tally(registry.Condenser); agent.Calls != users*each/2 || condenser.Calls != users*each/2 {
		t.Errorf("%d and %d calls", agent.Calls, condenser.Calls)
	}
}
