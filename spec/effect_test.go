package spec_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// The models of the table below, each with the settings it needs.
const (
	plain     = `"model":"openai/my-own","api_key":"base-key"`
	thinker   = `"model":"openai/gpt-5","api_mode":"chat"`
	responder = `"model":"openai/gpt-5","api_mode":"responses"`
	claude    = `"model":"anthropic/claude-sonnet-4-5"`
	amazon    = `"model":"bedrock/anthropic.claude-3-haiku-20240307-v1:0","aws_access_key_id":"BASE","aws_secret_access_key":"b","aws_region_name":"us-east-1"`
	router    = `"model":"openrouter/x/y"`
)

// effects has the effect of each field: laid over an LLM, it makes text appear in
// the request at the provider's server or in the call's settings; or, with a "!"
// before it, disappear. URL stands for the server.
var effects = map[string]struct{ base, field, text string }{
	"model":                        {plain, `"model":"openai/other"`, `"model":"other"`},
	"api_key":                      {plain, `"api_key":"own-key"`, "Bearer own-key"},
	"provider_connection_id":       {plain, `"provider_connection_id":"c1"`, "Bearer shared-key"},
	"base_url":                     {plain, `"base_url":"URL/other/v1"`, "/other/v1/chat/completions"},
	"api_version":                  {`"model":"azure/x"`, `"api_version":"2025-01-01","base_url":"URL"`, "api-version=2025-01-01"},
	"aws_access_key_id":            {amazon, `"aws_access_key_id":"OWN"`, "Credential=OWN/"},
	"aws_secret_access_key":        {amazon, `"aws_secret_access_key":"own-secret"`, "secret own-secret"},
	"aws_session_token":            {amazon, `"aws_session_token":"own-session"`, "X-Amz-Security-Token: own-session"},
	"aws_region_name":              {amazon, `"aws_region_name":"eu-west-3"`, "/eu-west-3/bedrock/aws4_request"},
	"aws_profile_name":             {plain, `"aws_profile_name":"own-profile"`, "profile own-profile"},
	"aws_role_name":                {plain, `"aws_role_name":"arn:own"`, "role arn:own"},
	"aws_session_name":             {plain, `"aws_session_name":"own-name"`, "as own-name"},
	"aws_bedrock_runtime_endpoint": {amazon, `"base_url":null,"aws_bedrock_runtime_endpoint":"URL/other"`, "/other/model/"},
	"openrouter_site_url":          {router, `"openrouter_site_url":"https://own.example"`, "Http-Referer: https://own.example"},
	"openrouter_app_name":          {router, `"openrouter_app_name":"Own"`, "X-Title: Own"},
	"num_retries":                  {plain, `"num_retries":3`, "Attempts:3"},
	"retry_multiplier":             {plain, `"retry_multiplier":1.5`, "Multiplier:1.5"},
	"retry_min_wait":               {plain, `"retry_min_wait":3`, "MinWait:3s"},
	"retry_max_wait":               {plain, `"retry_max_wait":77`, "MaxWait:1m17s"},
	"timeout":                      {plain, `"timeout":7`, "timeout 7s"},
	"stream_idle_timeout":          {plain, `"stream_idle_timeout":0.5`, "idle 500ms"},
	"temperature":                  {plain, `"temperature":0.25`, `"temperature":0.25`},
	"top_p":                        {plain, `"top_p":0.75`, `"top_p":0.75`},
	"top_k":                        {plain, `"top_k":7.0`, `"top_k":7,`},
	"max_input_tokens":             {plain, `"max_input_tokens":32111`, "ContextWindow:32111"},
	"max_output_tokens":            {plain, `"max_output_tokens":99`, `"max_tokens":99`},
	"model_canonical_name":         {plain, `"model_canonical_name":"openai/gpt-5"`, "ContextWindow:400000"},
	"api_mode":                     {plain, `"api_mode":"responses"`, "/v1/responses"},
	"capability_overrides":         {plain + `,"temperature":0.5`, `"capability_overrides":{"supports_sampling_params":false}`, `!"temperature"`},
	"extra_headers":                {plain, `"extra_headers":{"X-Own":"yes"}`, "X-Own: yes"},
	"input_cost_per_token":         {plain + `,"output_cost_per_token":0.000002`, `"input_cost_per_token":0.000003`, "Input:3"},
	"output_cost_per_token":        {plain + `,"input_cost_per_token":0.000002`, `"output_cost_per_token":0.000003`, "Output:3"},
	"ollama_base_url":              {`"model":"ollama/x"`, `"base_url":null,"ollama_base_url":"URL/other"`, "/other/api/"},
	"stream":                       {plain, `"stream":true`, `"stream":true`},
	"drop_params":                  {claude + `,"seed":1`, `"drop_params":false`, "the provider does not support seed"},
	"disable_vision":               {plain, `"disable_vision":true`, "!data:image/png"},
	"disable_stop_word":            {plain, `"disable_stop_word":true`, `!"stop"`},
	"caching_prompt":               {claude, `"caching_prompt":false`, "!cache_control"},
	"native_tool_calling":          {plain, `"native_tool_calling":false`, `!"tools"`},
	"force_string_serializer":      {plain, `"force_string_serializer":true`, "StringContent:true"},
	"inline_image_urls":            {plain, `"inline_image_urls":true`, "InlineImages:true"},
	"reasoning_effort":             {thinker, `"reasoning_effort":"low"`, `"reasoning_effort":"low"`},
	"reasoning_summary":            {responder, `"reasoning_summary":"concise"`, `"summary":"concise"`},
	"enable_encrypted_reasoning":   {responder, `"enable_encrypted_reasoning":false`, "!reasoning.encrypted_content"},
	"prompt_cache_retention":       {responder, `"prompt_cache_retention":"in_memory"`, `"prompt_cache_retention":"in_memory"`},
	"extended_thinking_budget":     {claude, `"extended_thinking_budget":5000`, `"budget_tokens":5000`},
	"seed":                         {plain, `"seed":11`, `"seed":11`},
	"deft":                         {plain, `"deft":{"timeout":0.25,"retry_max_wait":9.5}`, "timeout 250ms"},
	"litellm_extra_body":           {plain, `"litellm_extra_body":{"tags":["a"]}`, `"tags":["a"]`},
}

// elsewhere are fields whose effect lies outside of the call, with the test
// that holds them to it, or who has the effect.
var elsewhere = map[string]string{
	"log_completions":        "conversation: TestCallsAreLogged",
	"usage_id":               "conversation: TestCallsAreLogged",
	"log_completions_folder": "the client's, who writes the logs there (openhands-sdk 1.58, remote_conversation.py)",
}

// TestEachFieldHasAnEffect holds every field of the wire to an effect, or to
// the list of those that have none.
func TestEachFieldHasAnEffect(t *testing.T) {
	t.Parallel()
	left := maps.Clone(spec.WithoutEffect)
	for _, f := range spec.LLMSchema.All() {
		_, unused := left[f.Name]
		delete(left, f.Name)
		_, other := elsewhere[f.Name]
		e, ok := effects[f.Name]
		if n := len(slices.DeleteFunc([]bool{unused, other, ok}, func(b bool) bool { return !b })); n != 1 {
			t.Errorf("field %s: effective %v, held elsewhere %v, without effect %v: want one", f.Name, ok, other, unused)
		}
		if !ok {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			without, with := call(t, "{"+e.base+"}"), call(t, "{"+e.base+","+e.field+"}")
			text, gone := strings.CutPrefix(e.text, "!")
			if gone {
				without, with = with, without
			}
			if !strings.Contains(with, text) || strings.Contains(without, text) {
				t.Errorf("%q: in\n%s\nand not in\n%s", e.text, with, without)
			}
		})
	}
	for name := range left {
		t.Errorf("%s has no effect, but is no field", name)
	}
}

// call makes a call with an LLM and returns its settings and the request at the
// server, which refuses all.
func call(t *testing.T, raw string) string {
	t.Helper()
	var mu sync.Mutex
	var seen strings.Builder
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		must.Report(t, err)
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(&seen, r.Method, r.URL)
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			fmt.Fprintf(&seen, "%s: %s\n", name, r.Header.Get(name))
		}
		fmt.Fprintln(&seen, string(body))
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(srv.Close)
	// The last of two fields of one name counts.
	raw = strings.Replace(strings.ReplaceAll(raw, "URL", srv.URL), "{", `{"base_url":"`+srv.URL+`/v1",`, 1)
	l := decode(t, raw, schema.Reading{})
	err := l.Resolve(func(string) (spec.Connection, bool, error) {
		url := srv.URL + "/v1"
		return spec.Connection{APIKey: "shared-key", BaseURL: &url}, true, nil
	}, "")
	must.Succeed(t, err)
	cfg := l.Config(nil)
	m, err := route.New(cfg)
	must.Succeed(t, err)
	_, failed := llm.Complete(t.Context(), m, l.Request(asking()), nil)
	mu.Lock()
	defer mu.Unlock()
	fmt.Fprintf(&seen, "timeout %v, idle %v, secret %s, profile %s, role %s as %s\n", cfg.Timeout, cfg.IdleTimeout,
		cfg.AWS.SecretAccessKey.Reveal(), cfg.AWS.Profile, cfg.AWS.Role, cfg.AWS.SessionName)
	fmt.Fprintf(&seen, "%+v\n%+v\n%v\n", m.Info(), l.Broker(broker.Options{}), failed)
	if cfg.Quirks != nil {
		fmt.Fprintf(&seen, "%+v\n", *cfg.Quirks)
	}
	return seen.String()
}

// asking is a request in which much can be changed.
func asking() llm.Request {
	static := event.Text("You are a test.")
	static.CachePrompt = true
	return llm.Request{
		Messages: []event.Message{
			{Role: event.RoleSystem, Content: event.List[event.Content]{static}},
			{Role: event.RoleUser, Content: event.List[event.Content]{event.Text("look"), event.Image(onePixel)}},
		},
		Tools: []llm.Tool{{Name: "look", Parameters: []byte(`{"type":"object","properties":{}}`)}},
		Stop:  []string{"STOP"},
	}
}

// onePixel is the smallest PNG.
const onePixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// TestUnused names settings without an effect.
func TestUnused(t *testing.T) {
	t.Parallel()
	if got := spec.NewLLM("x").Unused(); got != nil {
		t.Errorf("of the defaults: %v", got)
	}
	l := decode(t, `{"model":"x","max_message_chars":5,"custom_tokenizer":"t","seed":3}`, schema.Reading{})
	if got := l.Unused(); !slices.Equal(got, []string{"custom_tokenizer", "max_message_chars"}) {
		t.Errorf("%v", got)
	}
}
