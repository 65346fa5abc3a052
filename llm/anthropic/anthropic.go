// Package anthropic adapts Anthropic's Messages API to package llm.
//
// # Usage
//
//	m, err := anthropic.New(llm.Config{Model: "anthropic/claude-sonnet-4-5", APIKey: key})
//
// Requests and answers are small structs of this package over net/http; llm/openai
// explains why.
//
// # Concurrency
//
// A Model is safe for concurrent use. Generate leaves no goroutine running.
//
// # Failure
//
// All errors are *llm.Error. Malformed JSON in the input of a tool call is not
// an error: the arguments are passed on as the model wrote them.
package anthropic

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/internal/exchange"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// DefaultURL is Anthropic's own endpoint.
const DefaultURL = "https://api.anthropic.com"

// version is the version of the API that this package speaks.
const version = "2023-06-01"

// Model is one model behind one endpoint.
type Model struct {
	end    *exchange.Endpoint
	header http.Header // of each request
	info   llm.Info
	quirks llm.Quirks
	sent   *historycache.Cache[written]
	tools  *historycache.Tools
}

var _ llm.Model = (*Model)(nil)

// New returns the model of cfg without making a request. Errors are of kind
// Invalid.
func New(cfg llm.Config) (*Model, error) {
	provider := cmp.Or(cfg.Provider, "anthropic")
	// Other tools expect the address with /v1; Post adds it.
	if short := strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1"); short != "" {
		cfg.BaseURL = short
	}
	m := &Model{end: exchange.New(provider, cfg, DefaultURL), sent: historycache.New[written](historycache.Shared), tools: historycache.ToolsIn("anthropic", false)}
	if err := m.end.Check(); err != nil {
		return nil, err
	}
	cfg.WireModel = m.end.WireModel()
	m.info, m.quirks = catalog.Default().Describe(cfg, provider)
	// Every server of this protocol supports cache marks and needs thinking
	// sent back.
	m.info.PromptCache, m.info.MustEcho.ThinkingBlocks = true, true
	m.header = http.Header{}
	m.header.Set("Anthropic-Version", version)
	if cfg.APIKey != "" {
		m.header.Set("X-Api-Key", cfg.APIKey.Reveal())
	}
	for name, value := range cfg.Headers {
		m.header.Set(name, value)
	}
	return m, nil
}

// Info implements llm.Model.
func (m *Model) Info() llm.Info { return m.info }

// Generate implements llm.Model.
func (m *Model) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	body, beta, err := m.encode(ctx, &r)
	if err != nil {
		return nil, err
	}
	a := newAccumulator(onDelta)
	return m.end.Do(ctx, exchange.Call{
		NoStream: r.NoStream, Deltas: &a.Deltas,
		Ask:    func(ctx context.Context) (*http.Response, error) { return m.post(ctx, r.Session, beta, body) },
		Whole:  func(res *http.Response) error { return m.readWhole(res.Body, a) },
		Stream: func(res *http.Response, w *exchange.Watch) error { return m.readStream(res, w, a) },
		Finish: func(http.Header) *llm.Response { return exchange.Priced(a.response(), m.info.Price, a.usageSeen) },
	})
}

func (m *Model) post(ctx context.Context, session, beta string, body [][]byte) (*http.Response, error) {
	h := m.header.Clone()
	if session != "" {
		h.Set(exchange.SessionHeader, session)
	}
	if beta != "" {
		h.Add("Anthropic-Beta", beta)
	}
	return m.end.Post(ctx, "v1/messages", h, body...)
}
