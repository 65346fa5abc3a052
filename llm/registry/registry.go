// Package registry keeps the language models of a conversation or a process by
// the service that uses them: agent, condenser, titles ….
//
// # Usage
//
//	r := registry.New(build)                 // makes the model of a profile
//	err = r.Use(registry.Agent, "fast")
//	cfg.LLM = r.Model                        // of the controller: called at each step
//	err = r.Switch(registry.Agent, "strong") // in the middle of a conversation
//
// A service without a model of its own uses the agent's; its use is counted under
// its own name. Profiles, and which service uses which, are kept by
// settings/profiles, whose Builder makes their models.
//
// # Concurrency
//
// Everything is safe for concurrent use. A switch does not affect calls in
// flight: they end with the model they started with.
//
// # Failure
//
// A switch that fails changes nothing. Errors have the kinds of package fault:
// NotFound for an unknown profile, Conflict for a service that already has a
// model, Invalid for an unusable profile.
package registry

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
)

// The services of Deft. Others may be added.
const (
	Agent     = "agent"
	Condenser = "condenser"
	Titles    = "titles"
	Security  = "security"
	Drafts    = "drafts"
)

// Change is a change of the model of a service.
type Change struct {
	Service string
	Profile string // "" for a model without one
	Info    llm.Info
	// Switched is false for the first model of a service.
	Switched bool
}

// Registry maps services to models.
type Registry struct {
	build func(profile string) (llm.Model, error)

	order sync.Mutex // held from building a model to the notification; locked before mu

	mu          sync.Mutex
	services    map[string]*service
	tallies     map[string]*broker.Tally
	subscribers map[int]func(Change)
	next        int
}

type service struct {
	model   llm.Model
	profile string
}

// New returns an empty registry. build makes the model of a profile, as
// Builder.Build of settings/profiles does; nil if there are no profiles.
func New(build func(profile string) (llm.Model, error)) *Registry {
	if build == nil {
		build = func(profile string) (llm.Model, error) {
			return nil, fault.New(fault.NotFound, "there is no profile "+profile+": this process has none")
		}
	}
	return &Registry{
		build: build, services: map[string]*service{}, tallies: map[string]*broker.Tally{}, subscribers: map[int]func(Change){},
	}
}

// Add sets the first model of a service. It fails with kind Conflict if the
// service already has one: the usage of two would be counted as one.
func (r *Registry) Add(name string, m llm.Model) error { return r.add(name, "", m) }

// Use sets the first model of a service, from a profile. Errors come from Add and
// from building the model.
func (r *Registry) Use(name, profile string) error {
	m, err := r.build(profile)
	if err != nil {
		return err
	}
	return r.add(name, profile, m)
}

func (r *Registry) add(name, profile string, m llm.Model) error {
	if name == "" || m == nil {
		return fault.New(fault.Invalid, "a service needs a name and a model")
	}
	r.order.Lock()
	defer r.order.Unlock()
	r.mu.Lock()
	if r.services[name] != nil {
		r.mu.Unlock()
		return fault.New(fault.Conflict, "the service "+name+" already has a model").Hint("switch it to another profile instead")
	}
	r.services[name] = &service{m, profile}
	r.mu.Unlock()
	r.notify(Change{Service: name, Profile: profile, Info: m.Info()})
	return nil
}

// Switch sets the model of a service to another profile's, from its next call on.
// A service that shares the agent's model gets its own.
func (r *Registry) Switch(name, profile string) error {
	if name == "" {
		return fault.New(fault.Invalid, "a service needs a name")
	}
	r.order.Lock()
	defer r.order.Unlock()
	m, err := r.build(profile)
	if err != nil {
		return err
	}
	r.mu.Lock()
	_, had := r.services[name]
	r.services[name] = &service{m, profile}
	r.mu.Unlock()
	r.notify(Change{Service: name, Profile: profile, Info: m.Info(), Switched: had})
	return nil
}

// Model returns the current model of a service. A later switch does not change
// it: call Model again for each step. If neither the service nor the agent has
// a model, calls fail with kind NotFound.
func (r *Registry) Model(name string) llm.Model {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.services[name]
	if s == nil {
		s = r.services[Agent]
	}
	if s == nil {
		return missingModel{name}
	}
	return &counted{Model: s.model, registry: r, service: name}
}

// Profile returns the name of the profile of a service's model, "" if there is
// none.
func (r *Registry) Profile(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.services[name]; s != nil {
		return s.profile
	}
	return ""
}

// Services returns the sorted names of the services with a model of their own.
func (r *Registry) Services() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.services))
}

// Tally returns the usage of a service since the registry was created, across
// all its models.
func (r *Registry) Tally(name string) broker.Tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.tallies[name]; t != nil {
		return *t
	}
	return broker.Tally{}
}

// Subscribe calls f after each change, in order, from the goroutine that made
// the change. f must not block, and not change the registry. cancel ends the
// subscription; a notification under way may still arrive.
func (r *Registry) Subscribe(f func(Change)) (cancel func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.next
	r.next++
	r.subscribers[id] = f
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.subscribers, id)
	}
}

func (r *Registry) notify(c Change) {
	r.mu.Lock()
	var all []func(Change)
	for _, id := range slices.Sorted(maps.Keys(r.subscribers)) {
		all = append(all, r.subscribers[id])
	}
	r.mu.Unlock()
	for _, f := range all {
		f(c)
	}
}

func (r *Registry) count(name string, c broker.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tallies[name]
	if t == nil {
		t = &broker.Tally{}
		r.tallies[name] = t
	}
	t.Add(c)
}

// counted is a model that counts its calls for a service.
type counted struct {
	llm.Model
	registry *Registry
	service  string
}

// Generate implements llm.Model.
func (m *counted) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	resp, err := m.Model.Generate(broker.WithService(ctx, m.service), r, onDelta)
	c := broker.Call{Info: m.Info(), Session: r.Session, Response: resp, Err: err}
	if err == nil {
		c.Info, c.Timing = resp.By(c.Info), broker.TimingOf(resp)
	} else {
		c.Response = nil
	}
	m.registry.count(m.service, c)
	return resp, err
}

// missingModel is the model of a service without one.
type missingModel struct{ service string }

// Info implements llm.Model.
func (a missingModel) Info() llm.Info { return llm.Info{} }

// Generate implements llm.Model.
func (a missingModel) Generate(context.Context, llm.Request, func(llm.Delta)) (*llm.Response, error) {
	return nil, fault.New(fault.NotFound, "no model is configured for the service "+a.service).Hint("configure one for it, or for the agent")
}
