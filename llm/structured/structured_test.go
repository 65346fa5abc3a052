package structured_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/openai"
	"github.com/deft-dev/deft/llm/structured"
)

const verdictSchema = `{"type":"object","properties":{
	"risk":{"type":"string","enum":["low","high"]},
	"score":{"type":"integer","minimum":0,"maximum":10},
	"notes":{"type":"array","items":{"$ref":"#/$defs/note"},"maxItems":2},
	"extra":{"type":"string"}},
	"required":["risk","score"],"additionalProperties":false,
	"$defs":{"note":{"type":"object","properties":{"text":{"type":"string"},"line":{"type":"integer"}},"required":["text"]}}}`

type verdict struct {
	Risk  string `json:"risk"`
	Score int    `json:"score"`
	Notes []struct {
		Text string `json:"text"`
	} `json:"notes"`
}

// TestAnswers checks the calls in the text of an answer, and the messages sent back.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"risk":"low","score":3}`:                                      "low 3",
		"Here:\n```json\n{\"risk\": \"low\", \"score\": 3}\n```\nDone.": "low 3",
		`I think {x} is {"risk":"high","score":0} for {"risk":1}`:       "high 0",
	} {
		m, srv := model(t, in)
		got, _, err := structured.Ask[verdict](t.Context(), m, request())
		if err != nil || fmt.Sprint(got.Risk, " ", got.Score) != want || srv.Count() != 1 {
			t.Errorf("%s gives %+v, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{
		`{"risk":"low","score":`:         "it contains no complete JSON value",
		`[]`:                             "type",
		`{"risk":"low"}`:                 "score",
		`{"risk":"mid","score":1}`:       "enum",
		`{"risk":"low","score":1.5}`:     "integer",
		`{"risk":"low","score":11}`:      "maximum",
		`{"risk":"low","score":1,"x":1}`: "additional",
		`{"risk":"low","score":1,"notes":[{"text":"a"},{}]}`:                        "text",
		`{"risk":"low","score":1,"notes":[{"text":"a"},{"text":"b"},{"text":"c"}]}`: "maxItems",
	} {
		m, srv := model(t, in, `{"risk":"low","score":1}`)
		if _, _, err := structured.Ask[verdict](t.Context(), m, request()); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if reqs := srv.Requests(); len(reqs) != 2 || !strings.Contains(reqs[1].LastUser(), want) {
			t.Errorf("%s is sent back with %q, want %s", in, reqs[len(reqs)-1].LastUser(), want)
		}
	}
}

func model(t *testing.T, texts ...string) (llm.Model, *llmtest.Server) {
	t.Helper()
	script := &llmtest.Script{}
	for _, text := range texts {
		script.Turns = append(script.Turns, llmtest.Turn{Reply: llmtest.Reply{Text: text}})
	}
	srv := llmtest.Start(t, script)
	m, err := openai.New(llm.Config{Model: "openai/gpt-4o", BaseURL: srv.URL + "/v1", APIKey: "k"})
	must.Succeed(t, err)
	return m, srv
}

func request() llm.Request {
	return llm.Request{Schema: []byte(verdictSchema), Messages: []event.Message{{Role: event.RoleUser, Content: event.Texts("How risky is ls?")}}}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	m, srv := model(t, "It is low.", "```\n{\"risk\":\"low\",\"score\":1,\"notes\":[{\"text\":\"reads\"}]}\n```")
	got, resp, err := structured.Ask[verdict](t.Context(), m, request())
	if err != nil || resp == nil || got.Risk != "low" || got.Score != 1 || len(got.Notes) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	reqs := srv.Requests()
	if len(reqs) != 2 || !strings.Contains(reqs[0].LastUser(), `"additionalProperties":false`) || !strings.Contains(reqs[1].LastUser(), "it contains no complete JSON value") {
		t.Errorf("the server saw %d requests, the last %q", len(reqs), reqs[len(reqs)-1].LastUser())
	}
}

func TestAskFails(t *testing.T) {
	t.Parallel()
	m, _ := model(t, "no", `{"risk":"low"}`)
	_, resp, err := structured.Ask[verdict](t.Context(), m, request())
	if fault.KindOf(err) != fault.Invalid || resp == nil || !strings.Contains(err.Error(), "openai/gpt-4o did not answer") {
		t.Errorf("error %v, response %v", err, resp)
	}
	if _, _, err := structured.Ask[verdict](t.Context(), m, llm.Request{}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("without a schema: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, resp, err := structured.Ask[verdict](ctx, m, request()); !errors.Is(err, context.Canceled) && fault.KindOf(err) != fault.Canceled || resp != nil {
		t.Errorf("cancelled: %v", err)
	}
}

func TestStrict(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"type":"object","title":"T","properties":{"u":{"oneOf":[{"type":"string","minLength":1,"format":"uri"},{"type":"integer","minimum":0}]},"d":{"type":"string","format":"date"},"r":{"$ref":"#/$defs/x","description":"x"}},"required":["u","d","r"],"$defs":{"x":{"enum":["a"]}}}`: `{"type":"object","$defs":{"x":{"enum":["a"]}},"properties":{"u":{"anyOf":[{"type":"string"},{"type":"integer","minimum":0}]},"d":{"type":"string","format":"date"},"r":{"$ref":"#/$defs/x"}},"required":["u","d","r"],"additionalProperties":false}`,
		`{"type":"object","properties":{"b":{"type":"string","default":"x"},"a":{"type":["integer","null"],"enum":[1,2]}},"required":["b"]}`:                                                                                                                                                `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":["integer","null"],"enum":[1,2,null]}},"required":["b","a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"x":{"$ref":"#/$defs/d"}}}}},"$defs":{"d":{"type":"object","properties":{}}}}`:                                                                                                           `{"type":"object","$defs":{"d":{"type":"object","properties":{},"required":[],"additionalProperties":false}},"properties":{"l":{"type":["array","null"],"items":{"type":"object","properties":{"x":{"anyOf":[{"$ref":"#/$defs/d"},{"type":"null"}]}},"required":["x"],"additionalProperties":false}}},"required":["l"],"additionalProperties":false}`,
	} {
		got, err := structured.Strict([]byte(in))
		must.Succeed(t, err)
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		again, err := structured.Strict(got)
		if diff := cmp.Diff(want, string(again)); diff != "" || err != nil {
			t.Errorf("twice: %v (-want +got):\n%s", err, diff)
		}
	}
	for in, kind := range map[string]fault.Kind{
		`{"type":"object","properties":{"a":{"type":"object"}}}`:                     fault.Unsupported,
		`{"type":"object","properties":{},"additionalProperties":{"type":"string"}}`: fault.Unsupported,
		`[]`: fault.Invalid, `{`: fault.Invalid,
		`{"type":"string"}`:                                                                                      fault.Unsupported,
		`{"type":"object","properties":{"a":{}}}`:                                                                fault.Unsupported,
		`{"type":"object","properties":{"a":{"type":"array"}}}`:                                                  fault.Unsupported,
		`{"type":"object","properties":{"a":{"allOf":[{"type":"string"}]}}}`:                                     fault.Unsupported,
		`{"type":"object","properties":{"a":{"type":"string"}},"not":{}}`:                                        fault.Unsupported,
		strings.Repeat(`{"type":"object","properties":{"a":`, 12) + `{"type":"null"}` + strings.Repeat("}}", 12): fault.Unsupported,
	} {
		if _, err := structured.Strict([]byte(in)); fault.KindOf(err) != kind {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// FuzzStrict checks that strict schemas are JSON.
func FuzzStrict(f *testing.F) {
	f.Add(verdictSchema)
	f.Add(`{"$ref":"#"}`)
	f.Add(`{"anyOf":[{"$ref":"#"},{"$ref":"#"}],"type":"string"}`)
	f.Add(`{"properties":{"a":{"type":"integer"}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		if strict, err := structured.Strict([]byte(schema)); err == nil && !json.Valid(strict) {
			t.Errorf("Strict gives %s", strict)
		}
	})
}
