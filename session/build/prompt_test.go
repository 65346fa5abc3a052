package build

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
)

func TestPromptOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	own, binary := write("own.md", "Touch nothing."), write("binary", "\xff")
	for name, c := range map[string]struct {
		fields map[string]any
		want   codeact.Prompt
		bad    bool
	}{
		"usual":          {nil, codeact.Prompt{}, false},
		"own text":       {map[string]any{"system_prompt": "Be terse."}, codeact.Prompt{Verbatim: "Be terse."}, false},
		"no policy":      {map[string]any{"security_policy_filename": nil}, codeact.Prompt{NoPolicy: true}, false},
		"own policy":     {map[string]any{"security_policy_filename": own}, codeact.Prompt{SecurityPolicy: "Touch nothing."}, false},
		"no risks":       {map[string]any{"system_prompt_kwargs": map[string]any{"llm_security_analyzer": false}}, codeact.Prompt{NoRisk: true}, false},
		"planning":       {map[string]any{"system_prompt_filename": "system_prompt_planning.j2", "system_prompt_kwargs": map[string]any{"plan_structure": "One list."}}, codeact.Prompt{Planning: true, PlanStructure: "One list."}, false},
		"other template": {map[string]any{"system_prompt_filename": "mine.j2"}, codeact.Prompt{}, false},
		"unknown policy": {map[string]any{"security_policy_filename": "mine.j2"}, codeact.Prompt{}, true},
		"absent policy":  {map[string]any{"security_policy_filename": own + "x"}, codeact.Prompt{}, true},
		"no text":        {map[string]any{"security_policy_filename": binary}, codeact.Prompt{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := map[string]any{"kind": "Agent", "llm": map[string]any{"model": "m"}}
			maps.Copy(doc, c.fields)
			raw, err := json.Marshal(doc)
			must.Succeed(t, err)
			a, err := spec.DecodeAgent(raw, schema.Reading{})
			must.Succeed(t, err)
			got, err := promptOf(session.BuildRequest{Agent: a})
			if c.bad {
				if !fault.Is(err, fault.Invalid) {
					t.Errorf("error %v, want invalid", err)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
