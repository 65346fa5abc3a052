// Package ollama adapts Ollama's own API to package llm. The server also
// speaks Chat Completions (llm/openai), but takes no context size there and
// then cuts prompts to a few thousand tokens without a word.
//
// # Usage
//
//	m, err := ollama.New(llm.Config{Model: "ollama/qwen3:32b"})
//
// The first call asks the server what the model is (/api/show). Each call then
// sets num_ctx to the model's real context window, bounded by
// Config.ContextLimit (default [DefaultContext], or the num_ctx of the model's
// own Modelfile), and asks for an error instead of a shortened prompt, which
// servers before 0.12 do not know. Images have to be inline: Ollama fetches
// none. tool_choice has no form in the protocol but "none".
//
// # Concurrency
//
// A Model is safe for concurrent use. Generate leaves no goroutine running. Info says more after the first call.
//
// # Failure
//
// All errors are *llm.Error. A model that is not on the server is Invalid, with
// the command that gets it as the hint.
package ollama

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/internal/exchange"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// Defaults.
const (
	DefaultURL = "http://localhost:11434"
	// DefaultContext bounds the context window, in tokens: enough for long
	// conversations, and not all the memory that a window of 256k would take.
	DefaultContext = 65_536
	// DefaultKeepAlive spans the slow tools of an agent.
	DefaultKeepAlive = 30 * time.Minute
)

// Model is one model behind one server.
type Model struct {
	end       *exchange.Endpoint
	header    http.Header // of each request
	cfg       llm.Config
	keepAlive string
	quirks    llm.Quirks
	sent      *historycache.Cache[written]
	tools     *historycache.Tools

	asking chan struct{} // held by who asks about the model
	known  atomic.Pointer[modelCard]
	info   atomic.Pointer[llm.Info]
}

var _ llm.Model = (*Model)(nil)

// New returns the model of cfg without making a request. Errors are of kind
// Invalid.
func New(cfg llm.Config) (*Model, error) {
	cfg.Provider = cmp.Or(cfg.Provider, "ollama")
	// The address may be the one of the compatible API.
	for _, suffix := range []string{"/v1", "/api"} {
		if host, ok := strings.CutSuffix(strings.TrimRight(cfg.BaseURL, "/"), suffix); ok && host != "" {
			cfg.BaseURL = host
			break
		}
	}
	m := &Model{
		end: exchange.New(cfg.Provider, cfg, DefaultURL), cfg: cfg,
		sent: historycache.New[written](historycache.Shared), tools: historycache.ToolsIn("ollama", false), asking: make(chan struct{}, 1),
	}
	if err := m.end.Check(); err != nil {
		return nil, err
	}
	m.cfg.WireModel = m.end.WireModel()
	m.header = m.end.Header(cfg)
	if keep := cmp.Or(cfg.KeepAlive, DefaultKeepAlive); keep > 0 {
		m.keepAlive = keep.String()
	}
	info, quirks := catalog.Default().Describe(m.cfg, cfg.Provider)
	info.ContextWindow = m.window(info.ContextWindow, 0)
	m.info.Store(&info)
	m.quirks = quirks
	return m, nil
}

// Info implements llm.Model. Before the first call it says what the catalogue
// knows, after it what the server said.
func (m *Model) Info() llm.Info { return *m.info.Load() }

// Generate implements llm.Model.
func (m *Model) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	a := &accumulator{Deltas: exchange.To(onDelta)}
	return m.end.Do(ctx, exchange.Call{
		NoStream: r.NoStream, Deltas: &a.Deltas,
		Ask:    func(ctx context.Context) (*http.Response, error) { return m.ask(ctx, &r) },
		Whole:  func(res *http.Response) error { return m.readWhole(res.Body, a) },
		Stream: func(res *http.Response, w *exchange.Watch) error { return m.readStream(res.Body, w, a) },
		Finish: func(http.Header) *llm.Response {
			return exchange.Priced(a.response(m.end.WireModel()), m.Info().Price, a.counted)
		},
	})
}

func (m *Model) ask(ctx context.Context, r *llm.Request) (*http.Response, error) {
	c, err := m.learn(ctx)
	if err != nil {
		return nil, err
	}
	body, err := m.encode(ctx, r, c)
	if err != nil {
		return nil, err
	}
	h := m.header
	if r.Session != "" {
		h = m.header.Clone()
		h.Set(exchange.SessionHeader, r.Session)
	}
	res, err := m.end.Post(ctx, "api/chat", h, body...)
	if err != nil {
		return nil, m.explain(err)
	}
	return res, nil
}
