// Package llmlist lists the providers and models of the catalogue, and reports
// that no ChatGPT subscription is connected (docs/openhands/sdk-wire.md section 10, LLM). Subscriptions are for
// later.
//
// # Usage
//
//	s := llmlist.New(catalog.Default, prefixes)
//	routes := s.Routes()
//
// # Concurrency
//
// A Service does not change and is safe for concurrent use.
//
// # Failure
//
// Lists do not fail. Signing in to a subscription is a Conflict.
package llmlist

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
)

// Service holds the lists, which are made when they are first wanted: reading the catalogue
// takes a millisecond, which each start would wait for.
type Service struct{ lists func() *lists }

// lists are the lists of a catalogue.
type lists struct {
	providers []string
	models    map[string][]string // by provider; "" has all
	verified  *schema.Map
}

// proxy is the provider that resells models of several others.
const proxy = "openhands"

// resold are the providers whose models the proxy has.
var resold = []string{"anthropic", "openai", "gemini", "deepseek", "mistral", "moonshot", "minimax", "zai", "qwen"}

// New returns the lists of a catalogue. prefixes are further providers by which
// models may be named, with or without a slash at the end.
func New(of func() *catalog.Catalog, prefixes []string) *Service {
	return &Service{sync.OnceValue(func() *lists { return listsOf(of(), prefixes) })}
}

func listsOf(c *catalog.Catalog, prefixes []string) *lists {
	s := &lists{models: map[string][]string{}, verified: schema.NewMap()}
	able := map[string][]any{}
	for _, name := range c.Names() {
		e, ok := c.Lookup(name)
		if !ok {
			continue
		}
		s.models[e.Provider] = append(s.models[e.Provider], name)
		s.models[""] = append(s.models[""], name)
		if e.Tools {
			able[e.Provider] = append(able[e.Provider], strings.TrimPrefix(name, e.Provider+"/"))
		}
	}
	known := map[string]bool{proxy: true}
	for _, p := range prefixes {
		known[strings.TrimSuffix(p, "/")] = true
	}
	for p := range s.models {
		slices.Sort(s.models[p])
		if p != "" {
			known[p] = true
		}
	}
	s.providers = slices.Sorted(maps.Keys(known))
	s.verify(able)
	return s
}

// verify lists the models that can call tools, which agents need, newest
// names first.
func (s *lists) verify(able map[string][]any) {
	sold := []any{}
	for _, p := range resold {
		slices.Reverse(able[p])
		sold = append(sold, able[p]...)
	}
	s.verified.Set(proxy, sold)
	for _, p := range resold {
		if len(able[p]) > 0 {
			s.verified.Set(p, able[p])
		}
		delete(able, p)
	}
	for _, p := range slices.Sorted(maps.Keys(able)) {
		s.verified.Set(p, able[p])
	}
}

// subscribed are the models that a ChatGPT subscription includes.
var subscribed = []string{"gpt-5.5", "gpt-5.6-luna", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-6-astra", "gpt-6-luna", "gpt-6-sol", "gpt-6.1-sol"}

// Routes returns the operations of the lists and of subscriptions.
func (s *Service) Routes() []rest.Route {
	const base, tag, sub = "/api/llm", "LLM", "/api/llm/subscription/openai"
	type object map[string]any
	always := func(v object) rest.Handler {
		return func(w http.ResponseWriter, _ *http.Request) error { return rest.JSON(w, http.StatusOK, v) }
	}
	listed := func(of func(*lists) object) rest.Handler {
		return func(w http.ResponseWriter, _ *http.Request) error { return rest.JSON(w, http.StatusOK, of(s.lists())) }
	}
	notConnected := always(object{"vendor": "openai", "connected": false, "account_email": nil, "expires_at": nil})
	return []rest.Route{
		{Method: "GET", Path: base + "/providers", Tag: tag, Scope: rest.Sandbox, Handle: listed(func(l *lists) object { return object{"providers": l.providers} })},
		{Method: "GET", Path: base + "/models", Tag: tag, Scope: rest.Sandbox, Handle: s.listModels},
		{Method: "GET", Path: base + "/models/verified", Tag: tag, Scope: rest.Sandbox, Handle: listed(func(l *lists) object { return object{"models": l.verified} })},
		{Method: "GET", Path: sub + "/models", Tag: tag, Unsupported: true, Scope: rest.Sandbox, Handle: always(object{"vendor": "openai", "models": subscribed})},
		{Method: "GET", Path: sub + "/status", Tag: tag, Unsupported: true, Scope: rest.Sandbox, Handle: notConnected},
		{Method: "POST", Path: sub + "/device/start", Tag: tag, Unsupported: true, Scope: rest.Account, Handle: startLogin},
		{Method: "POST", Path: sub + "/device/poll", Tag: tag, Unsupported: true, Scope: rest.Account, Handle: pollLogin},
		{Method: "POST", Path: sub + "/logout", Tag: tag, Unsupported: true, Scope: rest.Account, Handle: notConnected},
	}
}

func (s *Service) listModels(w http.ResponseWriter, r *http.Request) error {
	list := s.lists().models[rest.QueryOf(r).String("provider", "")]
	if list == nil {
		list = []string{}
	}
	return rest.JSON(w, http.StatusOK, map[string][]string{"models": list})
}

func startLogin(http.ResponseWriter, *http.Request) error {
	return fault.New(fault.Conflict, "this server cannot sign in to a ChatGPT subscription").Hint("use an API key")
}

var pollBody = spec.Reference("SubscriptionDevicePollRequest", schema.Object{})

func pollLogin(_ http.ResponseWriter, r *http.Request) error {
	if _, err := rest.BodyAs(r, pollBody); err != nil {
		return err
	}
	return fault.New(fault.NotFound, "Subscription device login not found or expired")
}
