package structured_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/llmtest"
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

func TestCheck(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"risk":"low","score":3}`:                                                 `{"risk":"low","score":3}`,
		"Here:\n```json\n{\"risk\": \"low\", \"score\": 3}\n```\nDone.":            `{"risk":"low","score":3}`,
		`I think {x} is {"risk":"high","score":0} for {"risk":1}`:                  `{"risk":"high","score":0}`,
		`{"risk":"low","score":3,"extra":null,"notes":[{"text":"a","line":null}]}`: `{"risk":"low","score":3,"notes":[{"text":"a"}]}`,
	} {
		got, err := structured.Check([]byte(verdictSchema), in)
		if err != nil || string(got) != want && !strings.Contains(in, "```") {
			t.Errorf("%s gives %s, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{
		"":                               "it contains no complete JSON value",
		`{"risk":"low","score":`:         "it contains no complete JSON value",
		`[]`:                             "the answer is not of type object",
		`{"risk":"low"}`:                 `the answer lacks "score"`,
		`{"risk":"mid","score":1}`:       `the answer.risk is not one of ["low","high"]`,
		`{"risk":"low","score":1.5}`:     "the answer.score is not of type integer",
		`{"risk":"low","score":11}`:      "the answer.score is more than 10",
		`{"risk":"low","score":-1}`:      "the answer.score is less than 0",
		`{"risk":"low","score":1,"x":1}`: `the answer has a property "x" that is not in the schema`,
		`{"risk":"low","score":1,"notes":[{"text":"a"},{}]}`:                        `the answer.notes[1] lacks "text"`,
		`{"risk":"low","score":1,"notes":[{"text":null}]}`:                          "the answer.notes[0].text is not of type string",
		`{"risk":"low","score":1,"notes":[{"text":"a"},{"text":"b"},{"text":"c"}]}`: "the answer.notes has more than 2 items",
	} {
		if _, err := structured.Check([]byte(verdictSchema), in); err == nil || err.Error() != want {
			t.Errorf("%s gives the error %v, want %s", in, err, want)
		}
	}
}

func TestCheckCombined(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		schema, in string
		fits       bool
	}{
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `null`, true},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`, false},
		{`{"type":["string","null"]}`, `null`, true},
		{`{"const":{"a":1}}`, `{ "a": 1 }`, true},
		{`{"const":"a"}`, `"b"`, false},
		{`{"allOf":[{"type":"object"},{"required":["a"]}]}`, `{}`, false},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"a":"b"}`, false},
		{`{"type":"array","minItems":1}`, `[]`, false},
		{`{"$ref":"#"}`, `1`, false},
		{`{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`, `1`, false},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`, `1`, false},
	} {
		if _, err := structured.Check([]byte(tt.schema), tt.in); (err == nil) != tt.fits {
			t.Errorf("%s of %s: %v", tt.in, tt.schema, err)
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
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
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

// FuzzCheck checks that accepted answers can be decoded, and that strict
// schemas are JSON.
func FuzzCheck(f *testing.F) {
	f.Add(verdictSchema, `{"risk":"low","score":1,"notes":null}`)
	f.Add(`{"$ref":"#"}`, "```{}```")
	f.Add(`{"anyOf":[{"$ref":"#"}]}`, "[[[[{\"a\":null}]]]]")
	f.Add(`{"anyOf":[{"$ref":"#"},{"$ref":"#"}],"type":"string"}`, "1")
	f.Add(`{"properties":{"a":{"type":"integer"}}}`, `{"a":null,"a":1}`)
	f.Fuzz(func(t *testing.T, schema, text string) {
		if strict, err := structured.Strict([]byte(schema)); err == nil && !json.Valid(strict) {
			t.Errorf("Strict gives %s", strict)
		}
		if !json.Valid([]byte(schema)) {
			return
		}
		if doc, err := structured.Check([]byte(schema), text); err == nil && !json.Valid(doc) {
			t.Errorf("Check gives %s", doc)
		}
	})
}
