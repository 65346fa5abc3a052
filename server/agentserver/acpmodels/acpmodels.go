// Package acpmodels serves the route that asks an agent program, which speaks the Agent Client
// Protocol, for its models (docs/openhands/sdk-wire-1.58.md section D).
//
// # Usage
//
//	routes := acpmodels.New(acpmodels.Options{Discover: builder.DiscoverACP, …}).Routes()
//
// # Concurrency and failure
//
// Safe for concurrent use. At most [MaxPrograms] programs run at a time. A program that cannot start
// or wants a login is an answer, not an error.
package acpmodels

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/spec"
)

// The reference's bounds: programs at a time, and how long an answer is used again.
const (
	MaxPrograms = 2
	Kept        = 5 * time.Minute
)

// maxKept bounds the answers that are kept.
const maxKept = 64

// Options configure the service. All fields are required but Keys.
type Options struct {
	// Discover asks a program in the place of a new conversation. mask hides the secrets.
	Discover func(ctx context.Context, fields *spec.ACP, secrets map[string]string, mask func(string) string) (spec.ACPDiscovery, error)
	// Secret returns a stored secret by its address; false for an address of another server.
	Secret func(ctx context.Context, url string) (value string, ok bool)
	// BaseURL is the address of this server.
	BaseURL string
	// Keys open values that come sealed from the settings; nil for none.
	Keys schema.Keys
}

// Service serves the route. Make one with [New].
type Service struct {
	o     Options
	slots chan struct{}

	mu   sync.Mutex
	kept map[[sha256.Size]byte]known
}

// known is an answer that is kept.
type known struct {
	spec.ACPDiscovery
	at time.Time
}

// New returns the service.
func New(o Options) *Service {
	return &Service{o: o, slots: make(chan struct{}, MaxPrograms), kept: map[[sha256.Size]byte]known{}}
}

// Routes returns the operation. It starts programs with stored secrets, so a sandbox's key does not
// open it.
func (s *Service) Routes() []rest.Route {
	return []rest.Route{{Method: "POST", Path: "/api/acp/models", Tag: "ACP", Scope: rest.Account, Handle: s.models}}
}

var requestSchema = spec.Reference("ACPModelDiscoveryRequest", schema.Object{},
	schema.Field{Name: "secrets", Type: spec.SecretSources})

// answer is the reference's ACPModelDiscovery.
type answer struct {
	spec.ACPDiscovery
	Error *failure `json:"error"`
}

type failure struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

func (s *Service) models(w http.ResponseWriter, r *http.Request) error {
	doc, err := rest.RequiredDocument(r)
	if err != nil {
		return err
	}
	m, err := requestSchema.Check(doc, schema.Reading{Keys: s.o.Keys}, "body")
	if err != nil {
		return err
	}
	fields, err := fieldsOf(m.Object("agent_settings"))
	if err != nil {
		return err
	}
	secrets, err := s.secrets(m.Object("secrets"))
	if err != nil {
		return err
	}
	found, err := s.ask(r.Context(), fields, secrets, m.Get("refresh") == true)
	if f, ok := errors.AsType[*agent.Failure](err); ok {
		found.Models = []spec.ACPModelInfo{}
		return rest.JSON(w, http.StatusOK, answer{found, &failure{f.Code, secrets.Mask(fault.Text(f.Err))}})
	}
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, answer{ACPDiscovery: found})
}

// fieldsOf are the fields with which the program is started; it chooses its model itself.
func fieldsOf(m *schema.Map) (*spec.ACP, error) {
	m = m.Copy()
	for _, name := range []string{"acp_model", "acp_session_mode", "mcp_config", "agent_context"} {
		m.Delete(name)
	}
	a, err := agentsettings.Agent(m, spec.Preset{})
	if err != nil {
		return nil, err
	}
	return a.ACP()
}

// secrets are the secrets of a request.
func (s *Service) secrets(given *schema.Map) (*secret.Registry, error) {
	all := secret.NewRegistry(secret.Options{Local: s.o.Secret})
	if given.Len() == 0 {
		return all, nil
	}
	raw, err := schema.Encode(given)
	if err != nil {
		return nil, err
	}
	named, err := secret.ParseMap(raw, secret.ParseOptions{Server: s.o.BaseURL})
	all.Set(named...)
	return all, err
}

// ask returns what the program says, or has said before.
func (s *Service) ask(ctx context.Context, f *spec.ACP, secrets *secret.Registry, again bool) (spec.ACPDiscovery, error) {
	values := secrets.All(ctx)
	raw, err := json.Marshal([]any{f, values})
	if err != nil {
		return spec.ACPDiscovery{}, fmt.Errorf("name the question: %w", err)
	}
	key := sha256.Sum256(raw)
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return spec.ACPDiscovery{}, fault.Wrap(ctx.Err(), fault.Canceled, "the client went away")
	}
	if found, ok := s.known(key); ok && !again {
		return found, nil
	}
	found, err := s.o.Discover(ctx, f, values, secrets.Mask)
	if err == nil {
		s.keep(key, found)
	}
	return found, err
}

func (s *Service) known(key [sha256.Size]byte) (spec.ACPDiscovery, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.kept[key]
	return k.ACPDiscovery, ok && time.Since(k.at) < Kept
}

func (s *Service) keep(key [sha256.Size]byte, d spec.ACPDiscovery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) >= maxKept {
		clear(s.kept)
	}
	s.kept[key] = known{d, time.Now()}
}
