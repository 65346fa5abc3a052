package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/finish"
)

func TestWithResponse(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","required":["colour"],"properties":{"colour":{"type":"string"},"shade":{"type":"integer"}}}`
	d, err := tool.WithResponse(finish.Definition(), json.RawMessage(schema))
	must.Succeed(t, err)
	offered, err := tool.FunctionSchema(d)
	if err != nil || !strings.Contains(string(offered), `"colour"`) || !strings.Contains(string(offered), `"message"`) {
		t.Errorf("offered: %s, %v", offered, err)
	}
	set, err := tool.NewSet(d)
	must.Succeed(t, err)
	p, err := set.Parse("finish", `{"message":"blue","colour":"blue","shade":"3"}`)
	must.Succeed(t, err)
	if a, ok := p.Action.(*event.FinishAction); !ok || a.Message != "blue" {
		t.Errorf("got %#v", p.Action)
	}
	for args, want := range map[string]string{
		`{"message":"blue"}`:                           "colour",
		`{"message":"blue","colour":[1]}`:              "colour",
		`{"message":"blue","colour":"b","shade":"x"}`:  "shade",
		`{"message":"blue","colour":"b","taste":"ok"}`: "taste",
	} {
		if _, err := set.Parse("finish", args); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error about %s", args, err, want)
		}
	}
}

func TestWithResponseRefuses(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"type":"object"}`, `[]`, `null`, `{`, `{"type":"object","properties":{}}`,
		`{"type":"object","properties":{"message":{"type":"string"}}}`,
		`{"type":"object","properties":{"summary":{"type":"string"}}}`,
		`{"type":"object","properties":{"kind":{"type":"string"}}}`,
	} {
		if _, err := tool.WithResponse(finish.Definition(), json.RawMessage(schema)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: got %v", schema, err)
		}
	}
}
