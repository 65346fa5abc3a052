// Package ollama adapts Ollama's own API to package llm. The server also
// supports Chat Completions (llm/openai), but without a context size: it then
// silently truncates prompts to a few thousand tokens.
//
// # Usage
//
//	m, err := ollama.New(llm.Config{Model: "ollama/qwen3:32b"})
//
// The first call requests the model's description (/api/show). Each call then
// sets num_ctx to the model's real context window, limited by
// Config.ContextLimit (default [DefaultContext], or the num_ctx of the model's
// own Modelfile), and requests an error instead of a truncated prompt, which
// servers before 0.12 do not support. Images must be inline: Ollama fetches
// none. The protocol supports no tool_choice except "none".
//
// # Concurrency
//
// A Model is safe for concurrent use. Generate leaves no goroutine running.
// Info is more precise after the first call.
//
// # Failure
//
// All errors are *llm.Error. A model that is not on the server is Invalid, with
// the command to download it as the hint.
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
	// DefaultContext limits the context window, in tokens: enough for long
	// conversations, without the memory of a window of 256k.
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

	asking chan struct{} // held while the description is requested
	known  atomic.Pointer[modelCard]
	info   atomic.Pointer[llm.Info]
}

var _ llm.Model = (*Model)(nil)

// New returns the model of cfg without making a request. Errors are of kind
// Invalid.
func New(cfg llm.Config) (*Model, error) {
	cfg.Provider = cmp.Or(cfg.Provider, "ollama")
	// The address may be the compatible API's.
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

// Info implements llm.Model. It returns the catalogue's description before the
// first call, the server's after it.
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
