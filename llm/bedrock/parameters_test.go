package bedrock

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// TestModelFields checks that top_k and extra fields are sent as additional
// model fields.
func TestModelFields(t *testing.T) {
	t.Parallel()
	extra := map[string]json.RawMessage{"x": json.RawMessage(`1`), "model": json.RawMessage(`"evil"`)}
	for name, tt := range map[string]struct {
		model, effort string
		budget        int
		extra         map[string]json.RawMessage
		want          string
	}{
		"Claude":          {"bedrock/anthropic.claude-3-haiku-20240307-v1:0", "", 0, nil, `{"top_k":7}`},
		"a Claude thinks": {sonnet, "low", 0, nil, `{"thinking":{"type":"enabled","budget_tokens":4096}}`},
		"a budget":        {sonnet, "low", 9_000, nil, `{"thinking":{"type":"enabled","budget_tokens":9000}}`},
		"Nova":            {"bedrock/amazon.nova-pro-v1:0", "", 0, nil, `{"inferenceConfig":{"topK":7}}`},
		"another":         {"bedrock/meta.llama3-70b-instruct-v1:0", "", 0, nil, ""},
		"extra":           {"bedrock/meta.llama3-70b-instruct-v1:0", "", 0, extra, `{"x":1}`},
		"both":            {"bedrock/amazon.nova-pro-v1:0", "", 0, extra, `{"inferenceConfig":{"topK":7},"x":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var body []byte
			m := serve(t, tt.model, &body, piece, finish)
			again := func(keep bool) {
				m.end = exchange.New("bedrock", llm.Config{Model: tt.model, BaseURL: m.end.BaseURL, HTTPClient: m.end.HTTP, ExtraBody: tt.extra, KeepParameters: keep}, "")
			}
			again(false)
			k, seed := 7, 3
			r := llm.Request{Messages: []event.Message{user("hi")}, TopK: &k, Seed: &seed, ThinkingBudget: tt.budget, ReasoningEffort: tt.effort, MaxOutputTokens: 40_000}
			if _, err := llm.Complete(t.Context(), m, r, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, gjson.GetBytes(body, "additionalModelRequestFields").Raw); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			if strings.Contains(string(body), "seed") {
				t.Errorf("a seed is sent: %s", body)
			}
			again(true)
			if _, err := llm.Complete(t.Context(), m, r, nil); !fault.Is(err, fault.Invalid) {
				t.Errorf("where parameters are kept: %v", err)
			}
		})
	}
}

// TestConfiguredKeys signs with the keys of the configuration, whatever is in
// the environment, and shows them in no error.
func TestConfiguredKeys(t *testing.T) {
	t.Parallel()
	given := llm.AWS{AccessKeyID: "AKGIVEN", SecretAccessKey: "secret-given", SessionToken: "session-given", Region: "ap-south-1"}
	quoted := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		must.Report(t, err)
		if why := verify(r, body, given, "ap-south-1"); why != "" {
			t.Error(why)
		}
		if quoted {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"message":"%s %s"}`, r.Header.Get("X-Amz-Security-Token"), r.Header.Get("Authorization"))
			return
		}
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		if _, err := w.Write(slices.Concat(piece, finish)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(srv.Close)
	env := maps.Clone(region)
	env["AWS_BEARER_TOKEN_BEDROCK"] = "the operator's"
	m, err := New(llm.Config{Model: sonnet, BaseURL: srv.URL, AWS: given, HTTPClient: &http.Client{Transport: plainTransport}}, environ(env))
	must.Succeed(t, err)
	r := llm.Request{Messages: []event.Message{user("hi")}}
	if _, err := llm.Complete(t.Context(), m, r, nil); err != nil {
		t.Fatal(err)
	}
	quoted = true
	_, err = llm.Complete(t.Context(), m, r, nil)
	if !fault.Is(err, fault.Auth) || strings.Contains(err.Error(), "given") || strings.Contains(err.Error(), "AKGIVEN") {
		t.Errorf("the error of a server that quotes keys: %v", err)
	}
	if text := fmt.Sprintf("%v %+v %#v", given, given, given); strings.Contains(text, "given") || strings.Contains(text, "AKGIVEN") {
		t.Errorf("the keys are printed: %s", text)
	}
	if m, err = New(llm.Config{Model: sonnet, BaseURL: srv.URL, AWS: given, APIKey: "own"}, environ(env)); err != nil || m.bearer != "own" {
		t.Errorf("a key of the model's own: %v", err)
	}
	if m, err = New(llm.Config{Model: sonnet, AWS: llm.AWS{Region: "ap-south-1"}}, environ(env)); err != nil || m.bearer != "the operator's" || !strings.Contains(m.end.BaseURL, "ap-south-1") {
		t.Errorf("only a region: %v", err)
	}
}
