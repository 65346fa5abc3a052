package secret

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// Options say how a registry gets values. The zero value is usable.
type Options struct {
	// Client fetches looked-up values; nil for one without redirects.
	Client *http.Client
	// Local answers lookups whose URL this process serves itself, so that it
	// does not call itself; ok says that it did. See [LocalName]. Nil for none.
	Local func(ctx context.Context, url string) (value string, ok bool)
	// Timeout bounds one lookup. Default 30 s.
	Timeout time.Duration
	// Refresh is how long a looked-up value is used before it is asked for
	// again. Default 1 min; negative for never using one twice.
	Refresh time.Duration
	// Warn is called with the reason why a secret has no value; may be nil.
	// The error holds no secret. Calls come from several goroutines.
	Warn func(name string, err error)
}

// Info describes a secret to a model.
type Info struct {
	Name        string
	Description string // empty for none
}

// Registry holds the secrets of one conversation. Make one with [NewRegistry].
type Registry struct {
	o Options

	mu      sync.Mutex
	entries []*entry // in the order of their names' first appearance
	byName  map[string]*entry
	known   map[string]bool // every value to mask
	// lookedUp are the known values that lookups gave, the oldest first.
	lookedUp []string

	match atomic.Pointer[matcher] // of known; nil when known has changed
	any   atomic.Bool             // known is not empty
}

// entry is one secret. Its source and value are guarded by Registry.mu.
type entry struct {
	name, lower string
	source      Source
	value       string // looked up last
	at          time.Time
	asking      *asking // the lookup in progress; nil for none
}

// NewRegistry returns an empty registry.
func NewRegistry(o Options) *Registry {
	o.Client = cmp.Or(o.Client, defaultClient)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.Refresh = cmp.Or(o.Refresh, time.Minute)
	return &Registry{o: o, byName: map[string]*entry{}, known: map[string]bool{}}
}

// Set adds secrets or replaces secrets of the same names. Former values stay
// masked.
func (r *Registry) Set(all ...Named) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range all {
		e := r.byName[n.Name]
		if e == nil {
			e = &entry{name: n.Name, lower: strings.ToLower(n.Name)}
			r.byName[n.Name] = e
			r.entries = append(r.entries, e)
		}
		e.source, e.value, e.at = n.Source, "", time.Time{}
		e.asking = nil
		if n.Kind == KindStatic {
			r.learn(n.Value)
		}
	}
}

// Track adds values from elsewhere that are to be masked.
func (r *Registry) Track(values ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range values {
		r.learn(v)
	}
}

// LeastKey is how many bytes the credentials of services have at least: shorter texts, such as the "x" that services
// without keys want, occur in ordinary text, and masking them would leave nothing readable.
const LeastKey = 8

// TrackKeys adds credentials of services that are to be masked, but for placeholders below [LeastKey].
func (r *Registry) TrackKeys(keys ...string) {
	r.Track(slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return len(strings.TrimSpace(k)) < LeastKey })...)
}

// learn makes a value known, and reports whether it can be masked. r.mu is
// held.
func (r *Registry) learn(value string) bool {
	if strings.TrimSpace(value) == "" {
		return false
	}
	if !r.known[value] {
		r.known[value] = true
		r.match.Store(nil)
		r.any.Store(true)
	}
	return true
}

// matcher returns the matcher of all known values; nil for none.
func (r *Registry) matcher() *matcher {
	if r == nil || !r.any.Load() {
		return nil
	}
	if m := r.match.Load(); m != nil {
		return m
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m := matcherOf(slices.Collect(maps.Keys(r.known)))
	r.match.Store(m)
	return m
}

// Mask replaces every known value in text.
func (r *Registry) Mask(text string) string {
	m := r.matcher()
	if m == nil {
		return text
	}
	return m.mask(text)
}

// Infos returns names and descriptions, for the prompt.
func (r *Registry) Infos() []Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Info, len(r.entries))
	for i, e := range r.entries {
		out[i] = Info{e.name, e.source.Description}
	}
	return out
}

// Names returns the names, in the order in which they were first set.
func (r *Registry) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]string, len(r.entries))
	for i, e := range r.entries {
		out[i] = e.name
	}
	return out
}

// Sources returns the secrets, in the order in which they were first set.
func (r *Registry) Sources() []Named {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Named, len(r.entries))
	for i, e := range r.entries {
		out[i] = Named{e.name, e.source}
	}
	return out
}

// AppendJSON writes {"secret_sources": {…}}, the secret_registry of a
// conversation, in a form.
func (r *Registry) AppendJSON(dst []byte, f Form, ring Sealer) ([]byte, error) {
	dst, err := AppendMap(append(dst, `{"secret_sources":`...), r.Sources(), f, ring)
	if err != nil {
		return nil, err
	}
	return append(dst, '}'), nil
}

// variable matches names of shell variables.
var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Env returns the values of the secrets that a command names, by their names;
// nil for none. Letters of either case count, and it need not be a whole word.
// A value that cannot be had, or a name that no shell takes, is a warning.
func (r *Registry) Env(ctx context.Context, command string) map[string]string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	if len(r.entries) == 0 {
		r.mu.Unlock()
		return nil
	}
	lower := strings.ToLower(command)
	var named []string
	for _, e := range r.entries {
		if e.name != "" && strings.Contains(lower, e.lower) {
			named = append(named, e.name)
		}
	}
	r.mu.Unlock()
	named = slices.DeleteFunc(named, func(name string) bool {
		if variable().MatchString(name) {
			return false
		}
		r.warn(name, fault.New(fault.Invalid, "the name is not one of an environment variable"))
		return true
	})
	return r.values(ctx, named)
}

// All returns the values of all secrets but those excluded, for a program that
// cannot ask for them one by one.
func (r *Registry) All(ctx context.Context, exclude ...string) map[string]string {
	return r.values(ctx, slices.DeleteFunc(r.Names(), func(n string) bool { return slices.Contains(exclude, n) }))
}

// Resolve looks up the remaining values, so that they are masked although no
// command has named them.
func (r *Registry) Resolve(ctx context.Context) { r.All(ctx) }

// Value returns the value of one secret; ok says that there is one.
func (r *Registry) Value(ctx context.Context, name string) (value string, ok bool) {
	value, err := r.lookup(ctx, name)
	if err != nil {
		r.warn(name, err)
	}
	return value, value != ""
}

// values looks secrets up side by side.
func (r *Registry) values(ctx context.Context, names []string) map[string]string {
	if len(names) == 0 {
		return nil
	}
	got := make([]string, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { got[i], _ = r.Value(ctx, name) })
	}
	wg.Wait()
	out := make(map[string]string, len(names))
	for i, v := range got {
		if v != "" {
			out[names[i]] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func (r *Registry) warn(name string, err error) {
	if r.o.Warn != nil {
		r.o.Warn(name, err)
	}
}
