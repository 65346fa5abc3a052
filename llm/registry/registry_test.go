package registry_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/registry"
)

func TestNoProfiles(t *testing.T) {
	t.Parallel()
	if err := registry.New(nil).Use(registry.Agent, "p"); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a model that answers from a function.
type fake struct {
	name string
	gen  func(llm.Request) (*llm.Response, error)
}

func (f *fake) Info() llm.Info { return llm.Info{Name: f.name} }

func (f *fake) Generate(_ context.Context, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	if f.gen != nil {
		return f.gen(r)
	}
	return &llm.Response{Model: f.name, Usage: llm.Usage{Prompt: 10, Output: 1}}, nil
}

// build makes a model of the profile's name; "bad" has none.
func build(profile string) (llm.Model, error) {
	if profile == "bad" {
		return nil, fault.New(fault.NotFound, "there is no profile bad")
	}
	return &fake{name: profile}, nil
}

func answer(t *testing.T, m llm.Model) string {
	t.Helper()
	resp, err := llm.Complete(t.Context(), m, llm.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Model
}

func TestServices(t *testing.T) {
	t.Parallel()
	r := registry.New(build)
	if _, err := llm.Complete(t.Context(), r.Model("titles"), llm.Request{}, nil); fault.KindOf(err) != fault.NotFound {
		t.Errorf("without any model: %v", err)
	}
	if err := errors.Join(r.Use(registry.Agent, "big"), r.Use(registry.Titles, "small"), r.Add(registry.Security, &fake{name: "given"})); err != nil {
		t.Fatal(err)
	}
	for service, want := range map[string]string{
		registry.Agent: "big", registry.Titles: "small", registry.Security: "given", registry.Condenser: "big",
	} {
		if got := answer(t, r.Model(service)); got != want {
			t.Errorf("%s: %s, want %s", service, got, want)
		}
		if sum := r.Tally(service); sum.Calls != 1 || sum.Usage.Prompt != 10 || sum.Unpriced != 1 {
			t.Errorf("%s: %+v", service, sum)
		}
	}
	if diff := cmp.Diff([]string{"agent", "security", "titles"}, r.Services()); diff != "" {
		t.Error(diff)
	}
	if err := r.Use(registry.Agent, "other"); fault.KindOf(err) != fault.Conflict || r.Profile(registry.Agent) != "big" {
		t.Errorf("a second model for one name: %v", err)
	}
	for name, err := range map[string]error{"no name": r.Add("", &fake{}), "no model": r.Add("x", nil), "switch without a name": r.Switch("", "big")} {
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSwitch(t *testing.T) {
	t.Parallel()
	r := registry.New(build)
	var told []string
	cancel := r.Subscribe(func(c registry.Change) { told = append(told, fmt.Sprint(c.Service, " ", c.Profile, " ", c.Switched)) })
	if err := r.Use(registry.Agent, "first"); err != nil {
		t.Fatal(err)
	}
	before := r.Model(registry.Agent)
	for _, step := range [][2]string{{registry.Agent, "second"}, {registry.Titles, "third"}} {
		if err := r.Switch(step[0], step[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Switch(registry.Agent, "bad"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("to a profile that is not there: %v", err)
	}
	if got := answer(t, r.Model(registry.Agent)); got != "second" || r.Profile(registry.Agent) != "second" {
		t.Errorf("after a switch: %s", got)
	}
	if got := answer(t, before); got != "first" || before.Info().Name != "first" {
		t.Errorf("a model that was handed out changed to %s", got)
	}
	if sum := r.Tally(registry.Agent); sum.Calls != 2 {
		t.Errorf("calls before and after a switch: %+v", sum)
	}
	cancel()
	if err := r.Switch(registry.Agent, "fourth"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"agent first false", "agent second true", "titles third false"}, told); diff != "" {
		t.Errorf("subscribers (-want +got):\n%s", diff)
	}
}

// TestSwitchDuringCalls switches during calls: each ends with the model it
// started with, and none fails.
func TestSwitchDuringCalls(t *testing.T) {
	t.Parallel()
	r := registry.New(build)
	if err := r.Use(registry.Agent, "p0"); err != nil {
		t.Fatal(err)
	}
	var last string
	r.Subscribe(func(c registry.Change) { last = c.Profile })
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if err := r.Switch(registry.Agent, fmt.Sprint("p", i)); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			m := r.Model(registry.Agent)
			resp, err := m.Generate(t.Context(), llm.Request{}, func(llm.Delta) {})
			if err != nil || resp.Model != m.Info().Name {
				t.Errorf("%+v of %s, %v", resp, m.Info().Name, err)
			}
		})
	}
	wg.Wait()
	if last != r.Profile(registry.Agent) || r.Tally(registry.Agent).Calls != 50 {
		t.Errorf("told last of %s, but it is %s; %+v", last, r.Profile(registry.Agent), r.Tally(registry.Agent))
	}
}
