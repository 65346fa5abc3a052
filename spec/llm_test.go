package spec_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

func decode(t *testing.T, raw string, how schema.Reading) *spec.LLM {
	t.Helper()
	l, err := spec.DecodeLLM([]byte(raw), how, "body", "llm")
	must.Succeed(t, err)
	return l
}

func TestDefaultsFitTheStruct(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(spec.NewLLM("gpt-5.6"))
	must.Succeed(t, err)
	want, err := schema.Encode(spec.LLMSchema.Defaults())
	must.Succeed(t, err)
	want = []byte(strings.Replace(string(want), `"fallback_strategy":null,`, "", 1))
	if diff := cmp.Diff(string(want), string(raw)); diff != "" {
		t.Errorf("(-schema +struct)\n%s", diff)
	}
}

func TestSecretsAndUnknownFields(t *testing.T) {
	t.Parallel()
	ring := keyring.New("a key")
	l := decode(t, `{"model":"openai/x","api_key":"sk-1","aws_session_token":"**********","new_field":{"a":[1]},"timeout":7}`, schema.Reading{})
	if l.APIKey.Reveal() != "sk-1" || l.AWSSessionToken != "" || *l.StreamIdleTimeout != 7 {
		t.Fatalf("read %v %v %v", l.APIKey.Reveal(), l.AWSSessionToken, *l.StreamIdleTimeout)
	}
	masked, err := l.JSON(schema.Writing{})
	if err != nil || strings.Contains(string(masked), "sk-1") || !strings.Contains(string(masked), `"api_key":"**********"`) ||
		!strings.Contains(string(masked), `"new_field":{"a":[1]}`) || !strings.Contains(string(masked), `"stream_idle_timeout":7.0`) {
		t.Errorf("masked: %s %v", masked, err)
	}
	sealed, err := l.JSON(schema.Writing{Mode: schema.Sealed, Keys: ring})
	if err != nil || strings.Contains(string(sealed), "sk-1") || !strings.Contains(string(sealed), `"api_key":"gAAAAA`) {
		t.Errorf("sealed: %s %v", sealed, err)
	}
	if back := decode(t, string(sealed), schema.Reading{Keys: ring, Strict: true}); back.APIKey != "sk-1" {
		t.Error("the sealed key does not open")
	}
	if _, err := spec.DecodeLLM(sealed, schema.Reading{Keys: keyring.New("other"), Strict: true}); !errors.Is(err, schema.ErrSealed) {
		t.Errorf("another key: %v", err)
	}
	if _, err := l.JSON(schema.Writing{Mode: schema.Sealed}); !errors.Is(err, schema.ErrNoKey) {
		t.Errorf("no key: %v", err)
	}
	if s := fmt.Sprintf("%v %+v", l.APIKey, *l); strings.Contains(s, "sk-1") {
		t.Error("a key is printed")
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{}`:                                   "value_error body.llm",
		`{"model":""}`:                         "value_error body.llm",
		`{"model":5}`:                          "string_type body.llm.model",
		`{"model":"x","timeout":-1}`:           "greater_than_equal body.llm.timeout",
		`{"model":"x","num_retries":"many"}`:   "int_parsing body.llm.num_retries",
		`{"model":"x","top_p":1.5}`:            "less_than_equal body.llm.top_p",
		`{"model":"x","api_mode":"telepathy"}`: "literal_error body.llm.api_mode",
		`{"model":"x","api_key":{}}`:           "string_type body.llm.api_key",
		`{"model":"x","stream":"perhaps"}`:     "bool_parsing body.llm.stream",
		`[]`:                                   "model_attributes_type body.llm",
	} {
		_, err := spec.DecodeLLM([]byte(raw), schema.Reading{}, "body", "llm")
		var v schema.Violations
		if !errors.As(err, &v) {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if got := v[0].Type + " " + strings.ReplaceAll(strings.Trim(fmt.Sprint(v[0].Loc), "[]"), " ", "."); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

func TestInputIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	l := decode(t, `{"model":"azure/gpt-5","modify_params":true}`, schema.Reading{})
	if *l.APIVersion != "2024-12-01-preview" || l.Unknown.Len() != 0 {
		t.Errorf("azure: %v %v", *l.APIVersion, l.Unknown.Keys())
	}
	if l = decode(t, `{"model":"openai/gpt-5","base_url":"https://api.openai.com/"}`, schema.Reading{}); l.BaseURL != nil {
		t.Errorf("base url: %v", *l.BaseURL)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	l := decode(t, `{"model":"openrouter/m","api_key":"k","base_url":"http://h/v1","timeout":5,"stream_idle_timeout":null,
		"input_cost_per_token":0.000001,"output_cost_per_token":0.000002,"max_input_tokens":1000,"extra_headers":{"A":"b"},
		"capability_overrides":{"supports_sampling_params":false},"num_retries":0,"retry_min_wait":0,"temperature":0.5,"reasoning_effort":"max"}`, schema.Reading{})
	c := l.Config(nil)
	if c.Model != "openrouter/m" || c.APIKey != "k" || c.BaseURL != "http://h/v1" || c.Timeout != 5*time.Second || c.IdleTimeout != 24*time.Hour ||
		c.Headers["A"] != "b" || c.Headers["X-Title"] != "OpenHands" || c.Info.ContextWindow != 1000 || c.Info.Price.Input != 1 ||
		c.Quirks == nil || !c.Quirks.NoSampling {
		t.Errorf("config: %+v", c)
	}
	o := l.Broker(broker.Options{})
	if o.Attempts != 1 || o.MinWait != time.Nanosecond || o.MaxWait != 64*time.Second {
		t.Errorf("broker: %+v", o)
	}
	r := l.Request(llm.Request{})
	if *r.Temperature != 0.5 || r.ReasoningEffort != "xhigh" || !r.NoStream {
		t.Errorf("request: %+v", r)
	}
}

func TestABlindModelIsSentNoImages(t *testing.T) {
	t.Parallel()
	l := decode(t, `{"model":"m","disable_vision":true}`, schema.Reading{})
	msgs := []event.Message{
		{Role: event.RoleUser, Content: event.List[event.Content]{event.Text("look"), event.Image("data:,")}},
		{Role: event.RoleUser, Content: event.List[event.Content]{event.Image("data:,")}},
		{Role: event.RoleUser, Content: event.Texts("plain")},
	}
	got := l.Request(llm.Request{Messages: msgs}).Messages
	if len(got) != 3 || len(got[0].Content) != 2 || got[0].Content[1].Type != event.TypeText || got[1].Content[0].Type != event.TypeText || msgs[0].Content[1].Type != event.TypeImage {
		t.Errorf("%+v", got)
	}
	l.DisableVision = nil
	if got := l.Request(llm.Request{Messages: msgs}).Messages; len(got[0].Content) != 2 {
		t.Errorf("a model that sees: %+v", got)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	url := "http://shared"
	find := func(id string) (spec.Connection, bool, error) {
		return spec.Connection{APIKey: "shared", BaseURL: &url}, id == "c1", nil
	}
	l := decode(t, `{"model":"m","provider_connection_id":"c1"}`, schema.Reading{})
	if err := l.Resolve(find, "p"); err != nil || l.APIKey != "shared" || *l.BaseURL != url {
		t.Errorf("resolve: %v", err)
	}
	l = decode(t, `{"model":"m","provider_connection_id":"gone"}`, schema.Reading{})
	if err := l.Resolve(find, "p"); !fault.Is(err, fault.Invalid) {
		t.Errorf("gone: %v", err)
	}
	l = decode(t, `{"model":"m","provider_connection_id":"gone","api_key":"own"}`, schema.Reading{})
	if err := l.Resolve(find, ""); err != nil || l.APIKey != "own" {
		t.Errorf("own key: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"model":"x"}`, `{"model":"x","timeout":1e400}`, `{"model":"x","litellm_extra_body":{"a":{"b":[null]}}}`, `[[[[`, `{"model":"x","api_key":"gAAAAAx"}`, `{"model":"x","seed":9e99}`, "{\"model\":\"\x00\"}"} {
		f.Add([]byte(s))
	}
	ring := keyring.New("k")
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, err := spec.DecodeLLM(raw, schema.Reading{Keys: ring})
		if err != nil {
			return
		}
		l.Config(nil)
		out, err := l.JSON(schema.Writing{Mode: schema.Plain})
		if err != nil {
			t.Fatalf("%q does not encode: %v", raw, err)
		}
		back, err := spec.DecodeLLM(out, schema.Reading{Keys: ring})
		if err != nil {
			t.Fatalf("%q reads, its own form %q does not: %v", raw, out, err)
		}
		again, err := back.JSON(schema.Writing{Mode: schema.Plain})
		if err != nil || string(again) != string(out) {
			t.Fatalf("%q and then %q (%v)", out, again, err)
		}
	})
}
