package sandbox_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
)

// none makes no provider.
func none(sandbox.Config) (sandbox.Provider, error) { return nil, nil }

// described are classes that differ in what they accept.
var described = sandbox.Classes{
	{
		Name: "plain", Summary: "a plain one", Noun: "a plain sandbox", New: none,
		Levels:  []sandbox.Level{{Name: "high"}, {Name: "low", Lacks: []sandbox.Feature{sandbox.FeaturePorts}, Open: true}},
		Accepts: []sandbox.Feature{sandbox.FeatureLimits, sandbox.FeaturePorts},
	},
	{Name: "boxes", Summary: "a box", Noun: "a box", New: none, Image: "img:1", Accepts: []sandbox.Feature{sandbox.FeatureImage}, Why: "boxes decide"},
	sandbox.None,
}

// TestChoices: people choose levels of a class that has some, and other classes by name.
func TestChoices(t *testing.T) {
	t.Parallel()
	got := []string{
		strings.Join(described.ChoiceNames(), " "), described.ChoiceHelp(), described.Help(), described.Images(),
		sandbox.And(described.Accepting(sandbox.FeatureImage).Names()), described[0].DirIn("/d"),
	}
	want := []string{
		"high low boxes", "high or low; boxes (a box)", "plain (a plain one), boxes (a box) or none (where the server runs, which itself should be a sandbox)",
		"boxes: img:1", "boxes", "/d/plain",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	low, err := described.Choice("low")
	if err != nil || low.Has(sandbox.FeaturePorts) || !low.Has(sandbox.FeatureLimits) || !low.Open() {
		t.Errorf("low: %v %v", low, err)
	}
	for _, name := range []string{"plain", "none", "other"} {
		if _, err := described.Choice(name); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if replaced := described.With(sandbox.Class{Name: "boxes"}); len(replaced) != len(described) || described[1].Summary == "" {
		t.Errorf("replaced: %v", replaced)
	}
}

// TestRefuse: what is not accepted is refused by the name of the setting, with a class that
// accepts it.
func TestRefuse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sandbox    string
		asked      sandbox.Asked
		says, hint string
	}{
		"accepted":      {"high", sandbox.Asked{Feature: sandbox.FeatureLimits, Settings: []string{"--memory"}, Given: true}, "", ""},
		"not given":     {"high", sandbox.Asked{Feature: sandbox.FeatureImage, Settings: []string{"--image"}}, "", ""},
		"of containers": {"high", sandbox.Asked{Feature: sandbox.FeatureImage, Settings: []string{"--image"}, Given: true}, "--image is for containers", "add --sandbox boxes, or leave it out"},
		"by nobody":     {"boxes", sandbox.Asked{Feature: sandbox.FeatureGPUs, Settings: []string{"--gpus", "--x"}, Given: true}, "--gpus and --x are for containers", "leave them out"},
		"why":           {"boxes", sandbox.Asked{Feature: sandbox.FeatureLimits, Settings: []string{"--memory"}, Given: true}, "--memory cannot be given to a box", "boxes decide"},
		"of a level":    {"low", sandbox.Asked{Feature: sandbox.FeaturePorts, Settings: []string{"--publish"}, Given: true}, "no network of the sandbox's own", "leave --publish out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chosen, err := described.Choice(c.sandbox)
			must.Succeed(t, err)
			switch err := described.Refuse(chosen, c.asked); {
			case c.says == "":
				must.Report(t, err)
			case err == nil || !strings.Contains(err.Error(), c.says) || fault.HintOf(err) != c.hint:
				t.Errorf("%v (%s)", err, fault.HintOf(err))
			}
		})
	}
}

// TestCheck refuses a Spec by the first feature that the class does not have.
func TestCheck(t *testing.T) {
	t.Parallel()
	for says, s := range map[string]sandbox.Spec{
		"":                        {Limits: sandbox.Limits{PIDs: 1}},
		"cannot be given a user":  {Container: sandbox.Container{User: "1"}},
		"cannot be given mounts":  {Container: sandbox.Container{Mounts: []sandbox.Mount{{}}}},
		"given readable director": {Readable: []string{"/x"}},
	} {
		err := described[0].Check(s)
		if says == "" && err == nil {
			continue
		}
		if !fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
	if err := described[0].CheckLevel("middle"); !fault.Is(err, fault.Invalid) || fault.HintOf(err) != "use high or low" {
		t.Error(err)
	}
	if err := described[1].CheckLevel("high"); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
}
