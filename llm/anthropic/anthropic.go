// Package anthropic adapts Anthropic's Messages API to package llm.
//
// # Usage
//
//	m, err := anthropic.New(llm.Config{Model: "anthropic/claude-sonnet-4-5", APIKey: key})
//
// The official SDK does authentication and transport, with its retries off;
// the bodies are this package's own small structs.
//
// # Concurrency
//
// A Model is safe for concurrent use. Generate starts no goroutine that
// outlives it.
//
// # Failure
//
// All errors are *llm.Error. Malformed JSON in the input of a tool call is not
// an error: the arguments are handed on as the model wrote them.
package anthropic

import (
	"context"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/deft-dev/deft/internal/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// DefaultURL is Anthropic's own endpoint.
const DefaultURL = "https://api.anthropic.com"

// Model is one model behind one endpoint.
type Model struct {
	end    *exchange.Endpoint
	client sdk.Client
	info   llm.Info
	quirks llm.Quirks
}

var _ llm.Model = (*Model)(nil)

// New makes a model of cfg. It makes no request. Errors are of kind Invalid.
func New(cfg llm.Config) (*Model, error) {
	if cfg.Model == "" {
		return nil, fault.New(fault.Invalid, "no model is named").Hint("set LLM_MODEL or --model")
	}
	provider := cfg.Provider
	if provider == "" {
		provider = "anthropic"
	}
	// Other tools take the address with /v1; the SDK adds it.
	if short := strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1"); short != "" {
		cfg.BaseURL = short
	}
	m := &Model{end: exchange.New(provider, cfg, DefaultURL)}
	if err := m.end.Check(); err != nil {
		return nil, err
	}
	cfg.WireModel = m.end.WireModel()
	m.info, m.quirks = catalog.Default().Describe(cfg, provider)
	// Whatever speaks this protocol takes cache marks and wants thinking back.
	m.info.PromptCache, m.info.MustEcho.ThinkingBlocks = true, true
	// The client is built by hand: NewClient would look for credentials and
	// base URLs in the environment and in files, and send them to any server.
	opts := []option.RequestOption{
		option.WithBaseURL(m.end.BaseURL + "/"),
		option.WithHTTPClient(m.end.HTTP),
		option.WithMaxRetries(0),
		option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			return m.end.Middleware(r, next)
		}),
	}
	if cfg.APIKey != "" {
		opts = append(opts, option.WithHeader("X-Api-Key", cfg.APIKey.Reveal()))
	}
	for name, value := range cfg.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	m.client = sdk.Client{Options: opts}
	return m, nil
}

// Info implements llm.Model.
func (m *Model) Info() llm.Info { return m.info }

// Generate implements llm.Model.
func (m *Model) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	body, beta, err := m.encode(&r)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	watch := m.end.Watch(ctx)
	if r.NoStream {
		watch.Stop()
		watch = m.end.WatchWhole(ctx)
	}
	defer watch.Stop()
	res, err := m.post(watch.Context(), r.Session, beta, body)
	if err != nil {
		return nil, m.end.Failure(ctx, watch, err, false)
	}
	defer res.Body.Close()
	a := newAccumulator(onDelta)
	if exchange.IsJSON(res.Header) {
		err = m.readWhole(res.Body, a)
	} else {
		err = m.readStream(res, watch, a)
	}
	if err != nil {
		return nil, m.end.Failure(ctx, watch, err, a.handedOut)
	}
	out := a.response()
	out.Latency = time.Since(started)
	if !a.firstAt.IsZero() {
		out.FirstByte = a.firstAt.Sub(started)
	}
	if a.usageSeen {
		out.Cost, out.CostKnown = m.info.Price.Cost(out.Usage)
	}
	return out, nil
}

// rawBody is a body that is encoded already.
type rawBody []byte

// MarshalJSON implements json.Marshaler, which is how the SDK takes a body.
func (b rawBody) MarshalJSON() ([]byte, error) { return b, nil }

func (m *Model) post(ctx context.Context, session, beta string, body []byte) (*http.Response, error) {
	var res *http.Response
	var opts []option.RequestOption
	if session != "" {
		opts = append(opts, option.WithHeader("X-Litellm-Session-Id", session))
	}
	if beta != "" {
		opts = append(opts, option.WithHeaderAdd("Anthropic-Beta", beta))
	}
	err := m.client.Post(ctx, "v1/messages", rawBody(body), &res, opts...)
	return res, err
}
