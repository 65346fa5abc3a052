package settings

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// HasKey reports whether an LLM has a key, its own or its connection's.
func (s *Service) HasKey(ctx context.Context, l *spec.LLM) (bool, error) {
	if l.HasKey() || l.ProviderConnectionID == nil || *l.ProviderConnectionID == "" {
		return l.HasKey(), nil
	}
	c, ok, err := s.Profiles.Connections.Find(ctx)(*l.ProviderConnectionID)
	return ok && c.APIKey != "", err
}

// ActivateLLM makes an LLM profile the active one, and its LLM the settings' own,
// unless their agent is an ACP agent, which chooses its own (applied is false).
func (s *Service) ActivateLLM(ctx context.Context, name string) (applied bool, err error) {
	l, err := s.Profiles.LLMs.Load(ctx, name)
	if err != nil {
		return false, err
	}
	model, err := l.Doc()
	if err != nil {
		return false, err
	}
	_, err = s.Change(ctx, func(d *Document) error {
		if applied = !d.ACP(); applied {
			d.Agent = d.Agent.Copy()
			d.Agent.Set("llm", model)
		}
		clean := profiles.Canonical(name)
		d.ActiveProfile = &clean
		return nil
	})
	return applied, err
}

// DeleteLLM deletes an LLM profile, which is no longer active then. It is a
// Conflict while agent profiles name it.
func (s *Service) DeleteLLM(ctx context.Context, name string) error {
	if err := s.Profiles.DeleteLLM(ctx, name); err != nil {
		return err
	}
	return s.moveActiveLLM(ctx, name, nil)
}

// RenameLLM renames an LLM profile, which stays active if it was.
func (s *Service) RenameLLM(ctx context.Context, name, to string) error {
	if err := s.Profiles.RenameLLM(ctx, name, to); err != nil || name == to {
		return err
	}
	clean := profiles.Canonical(to)
	return s.moveActiveLLM(ctx, name, &clean)
}

// moveActiveLLM keeps the pointer to the active LLM profile on the profile it
// was on; to is nil for one that was deleted.
func (s *Service) moveActiveLLM(ctx context.Context, from string, to *string) error {
	doc, err := s.Load()
	if err != nil {
		return err
	}
	if doc.ActiveProfile == nil || profiles.Canonical(*doc.ActiveProfile) != profiles.Canonical(from) {
		return nil
	}
	_, err = s.Change(ctx, func(d *Document) error {
		d.ActiveProfile = to
		return nil
	})
	return err
}

// pingTimeout bounds the call that checks an LLM
// (docs/openhands/sdk-wire-1.58.md section C.4).
const pingTimeout = 15 * time.Second

// Check makes one short call with an LLM, without retries. A problem that
// passes, such as too many requests, is no error; a used-up quota is. A model that its
// provider does not know is NotFound. Texts of errors are without the LLM's keys, which a
// provider may have quoted.
func (s *Service) Check(ctx context.Context, l *spec.LLM) error {
	if err := s.Try(ctx, l); !fault.Is(err, fault.Timeout) {
		return err
	}
	return nil
}

// Try is [Service.Check] where an answer that does not come in time is an error, too.
func (s *Service) Try(ctx context.Context, l *spec.LLM) error {
	if s.o.Ping == nil {
		return fault.New(fault.Unsupported, "this server cannot call models")
	}
	c := *l
	c.NumRetries = 0
	limit := int(pingTimeout / time.Second)
	if c.Timeout != nil && *c.Timeout > 0 {
		limit = min(limit, *c.Timeout)
	}
	c.Timeout = &limit
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := s.o.Ping(ctx, &c)
	kind := fault.KindOf(err)
	switch {
	case err == nil, kind == fault.RateLimit:
		return nil
	case kind == fault.Timeout, errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Timeout, fmt.Sprintf("the model has not answered within %d seconds", limit))
	}
	if failed, ok := errors.AsType[*llm.Error](err); ok && failed.UnknownModel() {
		kind = fault.NotFound
	}
	return fault.New(kind, withoutKeys(err.Error(), l))
}

func withoutKeys(text string, l *spec.LLM) string {
	for _, secret := range []llm.Secret{l.APIKey, l.AWSAccessKeyID, l.AWSSecretAccessKey, l.AWSSessionToken} {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret.Reveal(), schema.Mask)
		}
	}
	return text
}

// UnusedConnection is a Conflict for a provider connection that LLM profiles or
// the settings still name.
func (s *Service) UnusedConnection(ctx context.Context, id string) error {
	names, err := s.Profiles.Linked(ctx, id)
	if err != nil {
		return err
	}
	doc, err := s.Load()
	if err != nil {
		return err
	}
	var why []string
	if len(names) > 0 {
		why = append(why, "referenced by LLM profile(s): "+strings.Join(names, ", "))
	}
	if doc.Agent.Object("llm").Text("provider_connection_id") == id {
		why = append(why, "referenced by the active agent settings")
	}
	if len(why) == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "Provider connection cannot be deleted while it is "+strings.Join(why, " and ")+
		". Update those references before deleting it.")
}
