// Package responses adapts OpenAI's Responses API, and the servers that speak
// it, to package llm.
//
// # Usage
//
//	m, err := responses.New(llm.Config{Model: "openai/gpt-5.6", APIKey: key})
//
// Nothing is stored at the provider: each request carries the whole history,
// reasoning in encrypted form included (event.ReasoningItem).
//
// # Concurrency
//
// A Model is safe for concurrent use. Generate starts no goroutine that
// outlives it.
//
// # Failure
//
// All errors are *llm.Error. A request that is refused only because of
// reasoning which another account or model encrypted is sent once more without
// that reasoning; the same holds for reasoning summaries, which OpenAI gives to
// verified organisations only, and for ids of items, which some endpoints look
// up in vain. Nothing else is tried again here.
package responses

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/internal/exchange"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// DefaultURL is OpenAI's own endpoint.
const DefaultURL = "https://api.openai.com/v1"

// families are the models that work best, or only, over Responses
// (docs/openhands/sdk-features-1.58.md section 4).
var families = []string{"gpt-5", "gpt-6", "codex-mini"}

// Preferred reports whether OpenAI's model of this name, without a provider's
// prefix, is better called over Responses than over Chat Completions.
func Preferred(model string) bool {
	name := strings.ToLower(model)
	for _, f := range families {
		if strings.HasPrefix(name, f) {
			return true
		}
	}
	return false
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

// New makes a model of cfg. It makes no request. Errors are of kind Invalid.
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

// ask sends the request, and sends it again without what was refused as
// described at Failure above.
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
