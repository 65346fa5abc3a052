// Package openai adapts OpenAI's Chat Completions API, and compatible servers,
// to package llm.
//
// # Usage
//
//	m, err := openai.New(llm.Config{Model: "openai/gpt-5.2", APIKey: key})
//	m, err := openai.New(llm.Config{Model: "vllm/qwen", Provider: "vllm", BaseURL: "http://localhost:8000/v1"})
//
// Requests and answers are small structs of this package over net/http: the
// official SDK costs more per streamed chunk than everything else together, and
// adds 12 MB of code. Tests check the test server with the official SDK, and
// this package with the test server.
//
// # Concurrency
//
// A Model is safe for concurrent use. Generate leaves no goroutine running.
//
// # Failure
//
// All errors are *llm.Error. Malformed JSON in the arguments of a tool call is
// not an error: the arguments are passed on as the model wrote them.
package openai

import (
	"cmp"
	"context"
	"net/http"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/internal/exchange"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// DefaultURL is OpenAI's own endpoint.
const DefaultURL = "https://api.openai.com/v1"

// Model is one model behind one endpoint.
type Model struct {
	end    *exchange.Endpoint
	header http.Header // of each request
	path   string

	retention string // of the prompt cache
	info      llm.Info
	quirks    llm.Quirks
	sent      *historycache.Cache[written]
	tools     *historycache.Tools
}

var _ llm.Model = (*Model)(nil)

// New returns the model of cfg without making a request. Errors are of kind
// Invalid.
func New(cfg llm.Config) (*Model, error) {
	provider := cmp.Or(cfg.Provider, "openai")
	m := &Model{end: exchange.New(provider, cfg, DefaultURL), sent: historycache.New[written](historycache.Shared)}
	if err := m.end.Check(); err != nil {
		return nil, err
	}
	cfg.WireModel = m.end.WireModel()
	m.info, m.quirks = catalog.Default().Describe(cfg, provider)
	m.tools = historycache.ToolsIn("openai", m.quirks.Strict)
	// OpenAI itself refuses top_k; compatible servers may accept it.
	m.quirks.NoTopK = m.quirks.NoTopK || m.end.BaseURL == DefaultURL
	m.retention = cmp.Or(cfg.CacheRetention, "24h")
	m.path = m.end.Path(cfg, "chat/completions")
	m.header = m.end.Header(cfg)
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
	if p := m.end.Provider; p == "openai" || p == exchange.Azure {
		a.tags.state = tagText // these never leave reasoning in the text
	}
	return m.end.Do(ctx, exchange.Call{
		NoStream: r.NoStream, Deltas: &a.Deltas,
		Ask:    func(ctx context.Context) (*http.Response, error) { return m.post(ctx, r.Session, body) },
		Whole:  func(res *http.Response) error { return m.readWhole(res.Body, a) },
		Stream: func(res *http.Response, w *exchange.Watch) error { return m.readStream(res, w, a) },
		Finish: func(h http.Header) *llm.Response {
			out := a.response()
			m.price(out, a, h)
			return out
		},
	})
}

func (m *Model) post(ctx context.Context, session string, body [][]byte) (*http.Response, error) {
	h := m.header
	if session != "" {
		h = m.header.Clone()
		h.Set(exchange.SessionHeader, session)
	}
	return m.end.Post(ctx, m.path, h, body...)
}

// price sets the cost: as reported by the server, else computed from the usage.
func (m *Model) price(out *llm.Response, a *accumulator, h http.Header) {
	if cost, ok := exchange.BilledCost(h); ok {
		out.Cost, out.CostKnown = cost, true
		return
	}
	if a.usage == nil {
		return // without usage nothing is known
	}
	if a.usage.Cost != nil && *a.usage.Cost >= 0 {
		out.Cost, out.CostKnown = *a.usage.Cost, true
		return
	}
	out.Cost, out.CostKnown = m.info.Price.Cost(out.Usage)
}
