package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
)

// vertexVersion is the version of Anthropic's API as Vertex names it.
const vertexVersion = "vertex-2023-10-16"

// maxRequest is the maximum size of a converted request: 256 MiB.
const maxRequest = 256 << 20

// VertexClaude returns the configuration for calling a Claude model of Vertex
// AI with Anthropic's adapter: its client converts requests to Vertex's form
// (https://docs.anthropic.com/en/api/claude-on-vertex-ai).
//
//	cfg, err := gemini.VertexClaude(cfg, os.Getenv)
//	m, err := anthropic.New(cfg)
//
// See also [NewVertex].
func VertexClaude(cfg llm.Config, env func(string) string) (llm.Config, error) {
	c, err := findCloud(&cfg, env)
	if err != nil {
		return cfg, err
	}
	end, err := checkURL(cfg, c.url())
	if err != nil {
		return cfg, err
	}
	cfg.BaseURL, cfg.WireModel = end.BaseURL, end.WireModel()
	at, err := url.Parse(end.BaseURL + "/" + c.path("anthropic", cfg.WireModel))
	if err != nil {
		return cfg, fmt.Errorf("make URL: %w", err)
	}
	if !cfg.Info.Price.Known && c.location == "global" { // elsewhere it costs more
		info, _ := catalog.Default().Describe(llm.Config{Model: cfg.Model, WireModel: cfg.WireModel}, "anthropic")
		cfg.Info.Price = info.Price
	}
	inner := end.HTTP.Transport
	inner = cmp.Or(inner, http.DefaultTransport)
	client := *end.HTTP
	client.Transport = &vertexTransport{inner: inner, url: at, tokens: newTokens(end, c)}
	cfg.HTTPClient = &client
	return cfg, nil
}

// vertexTransport converts requests of Anthropic's API to Vertex's: the model
// is in the URL, the version in the body.
type vertexTransport struct {
	inner  http.RoundTripper
	url    *url.URL // of the model, without the method
	tokens *tokens
}

// RoundTrip implements http.RoundTripper.
func (t *vertexTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	if err != nil {
		return nil, err
	}
	if err := r.Body.Close(); err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	method := ":rawPredict"
	if string(fields["stream"]) == "true" {
		method = ":streamRawPredict"
	}
	delete(fields, "model")
	fields["anthropic_version"] = json.RawMessage(`"` + vertexVersion + `"`)
	if body, err = json.Marshal(fields); err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	token, err := t.tokens.get(r.Context())
	if err != nil {
		return nil, err
	}
	next := r.Clone(r.Context())
	at := *t.url
	at.Path += method
	if at.RawPath != "" {
		at.RawPath += method
	}
	next.URL, next.Host = &at, ""
	next.Header.Del("X-Api-Key")
	next.Header.Del("Anthropic-Version")
	next.Header.Set("Authorization", "Bearer "+token)
	next.Body, next.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	next.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return t.inner.RoundTrip(next)
}
