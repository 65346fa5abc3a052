// Package exchange has the parts that all adapters share around one HTTP exchange
// with a provider: the client, the time limits and the classification of errors.
//
// # Usage
//
//	e := exchange.New("openai", cfg, "https://api.openai.com/v1")
//	a := &accumulator{Deltas: exchange.To(onDelta)}
//	return e.Do(ctx, exchange.Call{Deltas: &a.Deltas, Ask: …, Whole: …, Stream: …, Finish: …})
//
// # Concurrency
//
// An Endpoint is immutable and safe for concurrent use. A Watch belongs to one
// call; only its timers run concurrently.
//
// # Failure
//
// All errors are *llm.Error. They are classified by the HTTP status and the
// provider's own codes, and by words of the message last.
package exchange

import (
	"cmp"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/outbound"
	"github.com/deft-dev/deft/llm"
)

// Defaults of the time limits: the total is OpenHands'
// (docs/openhands/sdk-features.md section 1), connecting is ours.
const (
	DefaultTimeout = 300 * time.Second
	DefaultConnect = 10 * time.Second
)

// Endpoint is an address of a provider with the time limits of calls.
type Endpoint struct {
	Provider string
	Model    string // as the user named it
	BaseURL  string // without a slash at its end
	HTTP     *http.Client

	secrets             []llm.Secret // that errors do not show
	total, first, chunk time.Duration
	wireModel           string
	extra               map[string]json.RawMessage
	keep                bool // fail instead of dropping parameters
}

// New returns the endpoint of an adapter. defaultURL is used if cfg has no base
// URL.
func New(provider string, cfg llm.Config, defaultURL string) *Endpoint {
	e := &Endpoint{
		Provider:  provider,
		Model:     cfg.Model,
		BaseURL:   strings.TrimRight(cmp.Or(cfg.BaseURL, defaultURL), "/"),
		HTTP:      cfg.HTTPClient,
		secrets:   []llm.Secret{cfg.APIKey, cfg.AWS.AccessKeyID, cfg.AWS.SecretAccessKey, cfg.AWS.SessionToken},
		total:     cmp.Or(cfg.Timeout, DefaultTimeout),
		chunk:     cmp.Or(cfg.IdleTimeout, DefaultTimeout),
		wireModel: cfg.WireModel,
		extra:     cfg.ExtraBody,
		keep:      cfg.KeepParameters,
	}
	e.first = cmp.Or(cfg.FirstTimeout, e.chunk)
	if e.wireModel == "" {
		e.wireModel = cfg.Model
		if rest, ok := strings.CutPrefix(cfg.Model, provider+"/"); ok {
			e.wireModel = rest
		}
	}
	if e.HTTP == nil {
		e.HTTP = shared()
		if cfg.ConnectTimeout != 0 && cfg.ConnectTimeout != DefaultConnect {
			e.HTTP = newClient(cfg.ConnectTimeout)
		}
	}
	return e
}

// WireModel is the provider's name of the model.
func (e *Endpoint) WireModel() string { return e.wireModel }

// shared is the client of all endpoints with the default limits, so that a
// server with many models for few hosts reuses connections.
var shared = sync.OnceValue(func() *http.Client { return newClient(DefaultConnect) })

func newClient(connect time.Duration) *http.Client {
	route := outbound.NewRoute(net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second})
	dialer := dialer{route.Dial}
	return &http.Client{Transport: &http.Transport{
		Proxy:               route.Proxy,
		DialContext:         dialer.dial,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: connect,
		MaxIdleConns:        2048,
		MaxIdleConnsPerHost: 1024, // a server's conversations mostly have one provider
		IdleConnTimeout:     90 * time.Second,
	}, CheckRedirect: sameServer}
}

// sameServer follows redirects within one server only: net/http would send the
// headers with keys, and for 307 and 308 the whole conversation, to any other
// server.
func sameServer(req *http.Request, via []*http.Request) error {
	const most = 10 // as in net/http
	if first := via[0].URL; len(via) >= most || req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
		return http.ErrUseLastResponse // Send makes it an error
	}
	return nil
}

// NoModel is the error of a configuration without a model.
func NoModel() error {
	return fault.New(fault.Invalid, "no model is configured").Hint("set LLM_MODEL or --model")
}

// Check reports whether a model is named and the base URL is usable.
func (e *Endpoint) Check() error {
	if e.Model == "" {
		return NoModel()
	}
	u, err := url.Parse(e.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fault.New(fault.Invalid, "the base URL is not an http or https URL: "+e.shownURL()).Hint("check the base URL of the model")
	}
	return nil
}

// IsJSON reports whether an answer is one JSON document, as from a server that
// does not stream.
func IsJSON(h http.Header) bool {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "application/json")
}
