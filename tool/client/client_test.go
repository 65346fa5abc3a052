package client_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/client"
)

const control = `[{"name":"ui","description":"Moves the page.","parameters":{"type":"object","properties":{"to":{"type":"string","enum":["a","b"]}},"required":["to"]}},
	{"name":"bell","description":"Rings.","annotations":{"readOnlyHint":true}}]`

func TestTool(t *testing.T) {
	t.Parallel()
	specs, err := client.ParseSpecs(json.RawMessage(control))
	must.Succeed(t, err)
	set, err := tool.NewSet(specs[0].Definition(), specs[1].Definition())
	must.Succeed(t, err)
	p, err := set.Parse("ui", `{"to":"b","summary":"go"}`)
	must.Succeed(t, err)
	ev := &event.ActionEvent{Base: event.NewBase(event.SourceAgent), Action: p.Action, ToolName: "ui"}
	raw, err := event.Marshal(ev)
	must.Succeed(t, err)
	if want := `"action":{"to":"b","kind":"ClientAction_ui"}`; !strings.Contains(string(raw), want) {
		t.Errorf("%s lacks %s", raw, want)
	}
	again, err := event.Unmarshal(raw)
	if err != nil || again.(*event.ActionEvent).Action.Kind() != specs[0].ActionKind() {
		t.Errorf("read back: %v, %v", again, err)
	}
	obs, err := client.New().Execute(t.Context(), tool.Call{Action: p.Action})
	if err != nil || event.JoinText(obs.Result().Content) != "Tool call dispatched to client." {
		t.Errorf("observation %v, %v", obs, err)
	}
	if p, err := set.Parse("bell", ``); err != nil || string(p.Action.(*event.UnknownAction).Raw) != `{"kind":"ClientAction_bell"}` {
		t.Errorf("bell: %+v, %v", p, err)
	}
	for _, args := range []string{`{}`, `{"to":"c"}`, `{"to":"a","kind":"x"}`} {
		if _, err := set.Parse("ui", args); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: error %v", args, err)
		}
	}
	list := set.Describe()
	if list[0].ClientToolName != "ui" || !strings.Contains(string(list[0].InputSchema), "enum") || list[0].Annotations != nil || !list[1].Annotations.ReadOnly {
		t.Errorf("described: %+v", list)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for raw, why := range map[string]string{
		`{}`:                                "client_tools",
		`[{"name":"a"}]`:                    "needs name and description",
		`[{"name":"","description":"x"}]`:   "letters, digits",
		`[{"name":"a b","description":""}]`: "letters, digits",
		`[{"name":"a","description":"x","parameters":{"type":"string"}}]`:                           "must be an object JSON Schema",
		`[{"name":"a","description":"x","parameters":[]}]`:                                          "must be an object JSON Schema",
		`[{"name":"a","description":"x","parameters":null}]`:                                        "must be an object JSON Schema",
		`[{"name":"a","description":"x","annotations":1}]`:                                          "annotations",
		`[{"name":"a","description":"x","parameters":{"x":"` + strings.Repeat("y", 70<<10) + `"}}]`: "bytes",
		`[` + strings.TrimSuffix(strings.Repeat(`{"name":"a","description":"x"},`, 129), ",") + `]`: "client tools;",
	} {
		if _, err := client.ParseSpecs(json.RawMessage(raw)); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), why) {
			t.Errorf("%.60s: error %v, want one with %q", raw, err, why)
		}
	}
	a := client.Spec{Name: "a"}
	if err := client.Check([]client.Spec{a, a}, nil); err == nil || !strings.Contains(err.Error(), "Duplicate") {
		t.Errorf("twice: %v", err)
	}
	if err := client.Check([]client.Spec{a}, []string{"a"}); err == nil || !strings.Contains(err.Error(), "collides") {
		t.Errorf("taken: %v", err)
	}
	must.Report(t, client.Check([]client.Spec{a}, []string{"b"}))
	if specs, err := client.ParseSpecs(json.RawMessage("null")); err != nil || diff(specs, nil) {
		t.Errorf("null: %v, %v", specs, err)
	}
}

func diff(got, want []client.Spec) bool { return cmp.Diff(want, got) != "" }

// FuzzParseSpecs: parsed specifications make tools that take a call.
func FuzzParseSpecs(f *testing.F) {
	f.Add(control, `{"to":"a"}`)
	f.Add(`[{"name":"a","description":"x","parameters":{"type":"object","$defs":{"a":{"$ref":"#/$defs/a"}}}}]`, `{}`)
	f.Fuzz(func(t *testing.T, raw, args string) {
		specs, err := client.ParseSpecs(json.RawMessage(raw))
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatal(err)
			}
			return
		}
		if client.Check(specs, nil) != nil {
			return
		}
		for _, s := range specs {
			set, err := tool.NewSet(s.Definition())
			must.Succeed(t, err)
			if p, err := set.Parse(s.Name, args); err == nil && !json.Valid(p.Action.(*event.UnknownAction).Raw) {
				t.Fatalf("%s", p.Action.(*event.UnknownAction).Raw)
			}
		}
	})
}
