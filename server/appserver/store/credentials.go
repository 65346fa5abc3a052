package store

import (
	"context"
	"time"

	"github.com/deft-dev/deft/fault"
)

// CredentialKind is the purpose of a credential.
type CredentialKind string

// The kinds of credentials.
const (
	APIKey CredentialKind = "api_key" // a program's
	Cookie CredentialKind = "cookie"  // the session of a browser
	Code   CredentialKind = "code"    // signs in once
	// Device waits until a person allows it, and becomes an API key then (RFC 8628). It has no
	// owner before; its ID is the hash of the code that the person confirms.
	Device CredentialKind = "device"
)

// Credential is a secret that proves who its sender is. Only its hash is stored.
type Credential struct {
	ID      string
	Owner   string
	Kind    CredentialKind
	Name    string
	Created time.Time
	Used    time.Time // zero for never
	Expires time.Time // zero for never
	// ProviderSession is the identity provider's session that a Cookie began with; "" for none.
	ProviderSession string
}

const credentialColumns = "id, owner, kind, name, created_at, used_at, expires_at, provider_session"

// AddCredential stores a credential for a secret.
func (s *Store) AddCredential(ctx context.Context, c Credential, secret string) error {
	_, err := s.on(ctx).exec("INSERT INTO app_credentials (hash, "+credentialColumns+") VALUES ("+marks(9)+")",
		Hash(secret), c.ID, c.Owner, string(c.Kind), c.Name, micro(c.Created), micro(c.Used), micro(c.Expires), c.ProviderSession)
	return failed(err)
}

// Credential returns the credential of a secret that has not expired at a time. Auth if
// there is none.
func (s *Store) Credential(ctx context.Context, secret string, now time.Time) (Credential, error) {
	unknown := fault.New(fault.Auth, "the key is unknown, or no longer valid")
	c, err := one(s.on(ctx), credential, unknown, "SELECT "+credentialColumns+" FROM app_credentials WHERE hash = ?", Hash(secret))
	if err == nil && !c.Expires.IsZero() && !now.Before(c.Expires) {
		return Credential{}, unknown
	}
	return c, err
}

// TakeCode is [Store.Credential] for a Code, which is used up by it, even if several
// clients send it at the same time.
func (s *Store) TakeCode(ctx context.Context, secret string, now time.Time) (c Credential, err error) {
	err = s.change(ctx, func(t tx) error {
		c, err = one(t, credential, fault.New(fault.Auth, "the code is unknown, or was used already"),
			"DELETE FROM app_credentials WHERE hash = ? AND kind = ? RETURNING "+credentialColumns, Hash(secret), string(Code))
		return err
	})
	if err == nil && !now.Before(c.Expires) {
		return Credential{}, fault.New(fault.Auth, "the code is no longer valid")
	}
	return c, err
}

// UsedCredential notes when a credential was used.
func (s *Store) UsedCredential(ctx context.Context, id string, when time.Time) error {
	_, err := s.on(ctx).exec("UPDATE app_credentials SET used_at = ? WHERE id = ?", micro(when), id)
	return failed(err)
}

// Credentials returns the credentials of an owner that are of one kind, the oldest
// first.
func (s *Store) Credentials(ctx context.Context, owner string, kind CredentialKind) ([]Credential, error) {
	return all(s.on(ctx), credential, "SELECT "+credentialColumns+" FROM app_credentials WHERE owner = ? AND kind = ? ORDER BY created_at, id", owner, string(kind))
}

// DeleteCredential revokes a credential of an owner. NotFound if there is none.
func (s *Store) DeleteCredential(ctx context.Context, owner, id string) error {
	r, err := s.on(ctx).exec("DELETE FROM app_credentials WHERE owner = ? AND id = ?", owner, id)
	return affected(r, err, "key", id)
}

// DeleteCredentials revokes the credentials of an owner that are of one kind, but for the one
// with an id.
func (s *Store) DeleteCredentials(ctx context.Context, owner string, kind CredentialKind, except string) error {
	_, err := s.on(ctx).exec("DELETE FROM app_credentials WHERE owner = ? AND kind = ? AND id <> ?", owner, string(kind), except)
	return failed(err)
}

// DeleteExpired deletes credentials that are no longer valid.
func (s *Store) DeleteExpired(ctx context.Context, now time.Time) error {
	_, err := s.on(ctx).exec("DELETE FROM app_credentials WHERE expires_at > 0 AND expires_at <= ?", micro(now))
	return failed(err)
}

func credential(row scanner) (c Credential, err error) {
	err = row.Scan(&c.ID, &c.Owner, &c.Kind, &c.Name, stored{&c.Created}, stored{&c.Used}, stored{&c.Expires}, &c.ProviderSession)
	return c, err
}
