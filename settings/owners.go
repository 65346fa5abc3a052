package settings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/settings/permission"
	"github.com/deft-dev/deft/spec"
)

// Owners are the settings of every owner of conversations. They are the Settings of package
// session. At most [KeptOwners] services are kept open; settings are files, so a
// service that is still in use when it is dropped works beside the next one.
type Owners struct {
	url  string
	log  *slog.Logger
	dir  func(identity.Tenant) string
	open func(ctx context.Context, dir string) (*Service, error)

	mu   sync.Mutex
	all  map[identity.Tenant]*openService
	uses uint64
}

// KeptOwners is how many services [Owners] keep open.
const KeptOwners = 256

type openService struct {
	service *Service
	used    uint64 // the number of the last use
}

// OwnersOptions have the places of the settings of many owners.
type OwnersOptions struct {
	// Local is the directory of identity.LocalTenant, which deft run has too. Dir has a
	// directory of each other owner.
	Local, Dir string
	// URL is the base of the addresses by which conversations name stored secrets.
	URL string
	// Open opens the settings of a directory.
	Open func(ctx context.Context, dir string) (*Service, error)
	Log  *slog.Logger
}

// NewOwners returns the settings of many owners.
func NewOwners(o OwnersOptions) *Owners {
	return &Owners{url: o.URL, log: o.Log, open: o.Open, all: map[identity.Tenant]*openService{}, dir: func(owner identity.Tenant) string {
		if owner == identity.LocalTenant {
			return o.Local
		}
		sum := sha256.Sum256([]byte(owner))
		return filepath.Join(o.Dir, hex.EncodeToString(sum[:16]))
	}}
}

// OneOwner returns the settings of a server with one user, who is the owner of all
// conversations. url is as in [OwnersOptions].
func OneOwner(s *Service, url string, log *slog.Logger) *Owners {
	return &Owners{
		url: url, log: log, all: map[identity.Tenant]*openService{},
		dir:  func(identity.Tenant) string { return "" },
		open: func(context.Context, string) (*Service, error) { return s, nil },
	}
}

// Of returns an owner's settings. Auth for no owner.
func (o *Owners) Of(ctx context.Context, owner identity.Tenant) (*Service, error) {
	if owner == "" {
		return nil, fault.New(fault.Auth, "there is no user")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.uses++
	if s := o.all[owner]; s != nil {
		s.used = o.uses
		return s.service, nil
	}
	s, err := o.open(context.WithoutCancel(ctx), o.dir(owner)) // later callers need it too
	if err != nil {
		return nil, err
	}
	if len(o.all) >= KeptOwners {
		o.dropOldest()
	}
	o.all[owner] = &openService{s, o.uses}
	return s, nil
}

// dropOldest drops the service that was not used for the longest time.
func (o *Owners) dropOldest() {
	var oldest identity.Tenant
	for owner, s := range o.all {
		if oldest == "" || s.used < o.all[oldest].used {
			oldest = owner
		}
	}
	delete(o.all, oldest)
}

// Renew seals the settings of the local and of the named owners with the current key, so
// that previous keys can be taken away. Opening settings does it.
func (o *Owners) Renew(ctx context.Context, names []string) error {
	if local := string(identity.LocalTenant); !slices.Contains(names, local) { // deft run has the same ones
		names = append(slices.Clone(names), local)
	}
	for _, name := range names {
		if _, err := o.open(ctx, o.dir(identity.Tenant(name))); err != nil { // not kept: most owners are not there
			return err
		}
	}
	return nil
}

// LLM returns the LLM saved under a profile's name. NotFound if there is none.
func (o *Owners) LLM(ctx context.Context, owner identity.Tenant, profile string) (*spec.LLM, error) {
	s, err := o.Of(ctx, owner)
	if err != nil {
		return nil, err
	}
	return s.Profiles.LLMs.Load(ctx, profile)
}

// DefaultLLM returns the LLM of new conversations; see [Service.DefaultLLM].
func (o *Owners) DefaultLLM(ctx context.Context, owner identity.Tenant) (*spec.LLM, error) {
	s, err := o.Of(ctx, owner)
	if err != nil {
		return nil, err
	}
	return s.DefaultLLM()
}

// LLMs returns the names of the saved LLM profiles.
func (o *Owners) LLMs(ctx context.Context, owner identity.Tenant) ([]string, error) {
	s, err := o.Of(ctx, owner)
	if err != nil {
		return nil, err
	}
	return s.Profiles.LLMs.Names(ctx)
}

// MetaProfile returns a saved meta-profile, the first one for "". NotFound if there is none.
func (o *Owners) MetaProfile(ctx context.Context, owner identity.Tenant, name string) (json.RawMessage, error) {
	s, err := o.Of(ctx, owner)
	if err != nil {
		return nil, err
	}
	if name == "" {
		all, err := s.Profiles.Metas.List(ctx)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, fault.New(fault.NotFound, "there is no meta-profile")
		}
		name = all[0].Name
	}
	m, err := s.Profiles.Metas.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	return schema.Encode(m)
}

// Assigned returns the LLM profile that a service uses, "" for none of its own.
func (o *Owners) Assigned(ctx context.Context, owner identity.Tenant, service string) (string, error) {
	s, err := o.Of(ctx, owner)
	if err != nil {
		return "", err
	}
	all, err := s.Profiles.Assignments()
	return all.Services[service], err
}

// Secret looks up a stored secret, or the token of a Git provider, without a request. ok is
// false for a URL that is not below the own one. A secret that cannot be read is "",
// and logged.
func (o *Owners) Secret(ctx context.Context, owner identity.Tenant, url string) (value string, ok bool) {
	name, ok := secret.LocalName(o.url, url)
	if !ok {
		return "", false
	}
	s, err := o.Of(ctx, owner)
	if err == nil {
		var v llm.Secret
		if v, err = s.SandboxSecret(ctx, name); err == nil {
			return string(v), true
		}
	}
	o.log.Warn("a stored secret cannot be read", "secret", name, "err", err)
	return "", true
}

// Answer returns what an owner has answered about a file of a project.
func (o *Owners) Answer(ctx context.Context, owner identity.Tenant, q permission.Question) (permission.Answer, error) {
	s, err := o.Of(ctx, owner)
	if err != nil {
		return permission.None, err
	}
	return s.Answers.Answer(q)
}

// KeepAnswer keeps what an owner has answered about a file of a project.
func (o *Owners) KeepAnswer(ctx context.Context, owner identity.Tenant, q permission.Question, a permission.Answer) error {
	s, err := o.Of(ctx, owner)
	if err != nil {
		return err
	}
	return s.Answers.Keep(ctx, q, a)
}
