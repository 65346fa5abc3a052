// Package responses adapts OpenAI's Responses API, and compatible servers, to
// package llm.
//
// # Usage
//
//	m, err := responses.New(llm.Config{Model: "openai/gpt-5.6", APIKey: key})
//
// Nothing is stored at the provider: each request contains the whole history
// with the encrypted reasoning (event.ReasoningItem).
//
// # Concurrency
//
// A Model is safe for concurrent use. Generate leaves no goroutine running.
//
// # Failure
//
// All errors are *llm.Error. A request that is refused because another account
// or model encrypted its reasoning is repeated once without that reasoning;
// likewise without reasoning summaries, which OpenAI gives to verified
// organisations only, and without ids of items that an endpoint did not store.
// There are no other retries.
package responses

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/internal/exchange"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// DefaultURL is OpenAI's own endpoint.
const DefaultURL = "https://api.openai.com/v1"

// families are the models that work best, or only, with Responses
// (docs/openhands/sdk-features-1.58.md section 4).
var families = []string{"gpt-5", "gpt-6", "codex-mini"}

// Preferred reports whether Responses is preferable to Chat Completions for an
// OpenAI model of this name, without a provider's prefix.
func Preferred(model string) bool {
	name := strings.ToLower(model)
	return slices.ContainsFunc(families, func(f string) bool { return strings.HasPrefix(name, f) })
}

// Model is one model behind one endpoint.
type Model struct {
	end    *exchange.Endpoint
	header http.Header // of each request
	path   string
	info   llm.Info
	quirks llm.Quirks

	summary, retention string
	plain              bool // without encrypted reasoning

	sent    *historycache.Cache[written]
	tools   *historycache.Tools
	refused atomic.Pointer[refusals]
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
	m.tools = historycache.ToolsIn("responses", m.quirks.Strict)
	m.info.MustEcho.ReasoningItems = m.info.Reasoning
	m.summary, m.retention = cmp.Or(cfg.ReasoningSummary, "auto"), cmp.Or(cfg.CacheRetention, "24h")
	m.plain = cfg.PlainReasoning
	m.path = m.end.Path(cfg, "responses")
	m.header = m.end.Header(cfg)
	m.refused.Store(&refusals{})
	return m, nil
}

// Info implements llm.Model.
func (m *Model) Info() llm.Info { return m.info }

// Generate implements llm.Model.
func (m *Model) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	a := newAccumulator(onDelta)
	return m.end.Do(ctx, exchange.Call{
		NoStream: r.NoStream, Deltas: &a.Deltas,
		Ask:    func(ctx context.Context) (*http.Response, error) { return m.ask(ctx, &r) },
		Whole:  func(res *http.Response) error { return m.readWhole(res, a) },
		Stream: func(res *http.Response, w *exchange.Watch) error { return m.readStream(res, w, a) },
		Finish: func(h http.Header) *llm.Response {
			out := exchange.Priced(a.response(), m.info.Price, a.usage != nil)
			if cost, ok := exchange.BilledCost(h); ok {
				out.Cost, out.CostKnown = cost, true
			}
			return out
		},
	})
}

// ask sends the request, and repeats it without the refused parts as described
// at Failure above.
func (m *Model) ask(ctx context.Context, r *llm.Request) (*http.Response, error) {
	h := m.header
	if r.Session != "" {
		h = m.header.Clone()
		h.Set(exchange.SessionHeader, r.Session)
	}
	for {
		known := m.refused.Load()
		body, err := m.encode(ctx, r, known)
		if err != nil {
			return nil, err
		}
		res, err := m.end.Post(ctx, m.path, h, body...)
		if err == nil {
			return res, nil
		}
		more := known.after(err, r)
		if more == known {
			return nil, err
		}
		m.refused.Store(more)
	}
}
