// Package gemini adapts Google's generateContent to package llm, as served by
// the Gemini API (New) and by Vertex AI (NewVertex).
//
// # Usage
//
//	m, err := gemini.New(llm.Config{Model: "gemini/gemini-2.5-pro", APIKey: key})
//	m, err := gemini.NewVertex(llm.Config{Model: "vertex_ai/gemini-2.5-pro"}, os.Getenv)
//
// Requests and answers are small structs of this package over net/http; llm/openai
// explains why.
//
// # Thought signatures
//
// Gemini signs its reasoning and requires the signatures to be sent back
// (https://ai.google.dev/gemini-api/docs/thought-signatures). The signature of a
// function call is stored in event.ToolCall.ResponsesItemID, the signature of an
// answer's text in a thinking block of its own, as the block's text. Both begin
// with SignaturePrefix, so that only Gemini's own are sent back. A conversation
// may change its model: other adapters ignore both, because they use only item ids
// with their own prefix, and only signed blocks. The ids of calls stay short,
// because other providers limit them.
//
// # Concurrency
//
// A Model is safe for concurrent use. Generate leaves no goroutine running.
//
// # Failure
//
// All errors are *llm.Error. A malformed call written by the model is an error
// that may be retried.
package gemini

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/internal/exchange"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// DefaultURL is the Gemini API's own endpoint.
const DefaultURL = "https://generativelanguage.googleapis.com/v1beta"

// SignaturePrefix is the prefix of every thought signature that this package
// stores in a message.
const SignaturePrefix = "gemini:"

// Model is one model behind one endpoint.
type Model struct {
	end    *exchange.Endpoint
	path   string      // of the model, below the base URL
	header http.Header // of each request
	tokens *tokens     // nil where the key is in the header
	info   llm.Info
	quirks llm.Quirks
	family family
	noIDs  bool // Vertex matches results to calls by name and order
	sent   *historycache.Cache[written]
	tools  *historycache.Tools
}

var _ llm.Model = (*Model)(nil)

// New returns a model of the Gemini API without making a request. The key is
// sent in a header, never in the URL. Errors are of kind Invalid.
func New(cfg llm.Config) (*Model, error) {
	cfg.Provider = cmp.Or(cfg.Provider, "gemini")
	// Some tools expect the address without its version.
	if u, err := url.Parse(cfg.BaseURL); err == nil && u.Host != "" && strings.Trim(u.Path, "/") == "" {
		cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/") + "/v1beta"
	}
	m, err := newModel(cfg, DefaultURL, "gemini")
	if err != nil {
		return nil, err
	}
	name := m.end.WireModel()
	m.path = "models/" + url.PathEscape(name)
	if strings.HasPrefix(name, "models/") || strings.HasPrefix(name, "tunedModels/") {
		m.path = name
	}
	if cfg.APIKey != "" {
		m.header.Set("X-Goog-Api-Key", cfg.APIKey.Reveal())
	}
	return m, nil
}

// newModel makes the common part of both endpoints. owner is the provider whose
// prices apply.
func newModel(cfg llm.Config, defaultURL, owner string) (*Model, error) {
	end, err := checkURL(cfg, defaultURL)
	if err != nil {
		return nil, err
	}
	m := &Model{end: end, header: http.Header{}, sent: historycache.New[written](historycache.Shared), tools: historycache.ToolsIn("gemini", false)}
	cfg.WireModel = m.end.WireModel()
	m.info, m.quirks = catalog.Default().Describe(cfg, owner)
	if cfg.Info.Provider == "" {
		m.info.Provider = cfg.Provider
	}
	m.info.MustEcho.ThinkingBlocks = true
	m.family = familyOf(cfg.WireModel)
	for name, value := range cfg.Headers {
		m.header.Set(name, value)
	}
	return m, nil
}

// Info implements llm.Model.
func (m *Model) Info() llm.Info { return m.info }

// Generate implements llm.Model.
func (m *Model) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	body, err := m.encode(ctx, &r)
	if err != nil {
		return nil, err
	}
	a := newAccumulator(onDelta)
	return m.end.Do(ctx, exchange.Call{
		NoStream: r.NoStream, Deltas: &a.Deltas,
		Ask:    func(ctx context.Context) (*http.Response, error) { return m.post(ctx, &r, body) },
		Whole:  func(res *http.Response) error { return m.readWhole(res.Body, a) },
		Stream: func(res *http.Response, w *exchange.Watch) error { return m.readStream(res.Body, w, a) },
		Finish: func(http.Header) *llm.Response { return exchange.Priced(a.response(), m.info.Price, a.usageSeen) },
	})
}

// post sends a request. Unlike the endpoint's own Post it reads the details of
// an error, which tell a rate limit from a quota.
func (m *Model) post(ctx context.Context, r *llm.Request, body [][]byte) (*http.Response, error) {
	method := ":streamGenerateContent?alt=sse"
	if r.NoStream {
		method = ":generateContent"
	}
	req, err := exchange.NewRequest(ctx, m.end.BaseURL+"/"+m.path+method, body...)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header = m.header.Clone()
	if r.Session != "" {
		req.Header.Set(exchange.SessionHeader, r.Session)
	}
	if m.tokens != nil {
		token, err := m.tokens.get(ctx)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Content-Type", "application/json")
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "deft")
	}
	return m.end.Send(req, m.statusError)
}
