package store

import (
	"context"
	"time"

	"github.com/deft-dev/deft/fault"
)

// mostDevices is how many programs may wait for a person's consent at a time.
const mostDevices = 1000

// AddDevice stores a [Device] that waits for its consent. RateLimit while too many wait.
func (s *Store) AddDevice(ctx context.Context, c Credential, secret string) error {
	if err := s.DeleteExpired(ctx, c.Created); err != nil {
		return err
	}
	var waiting int
	if err := s.on(ctx).row("SELECT COUNT(*) FROM app_credentials WHERE kind = ?", string(Device)).Scan(&waiting); err != nil {
		return failed(err)
	}
	if waiting >= mostDevices {
		return fault.New(fault.RateLimit, "too many programs wait to be signed in").Hint("try again in some minutes")
	}
	return s.AddCredential(ctx, c, secret)
}

// AllowDevice makes an owner's a Device that waits, by its ID. NotFound if none waits.
func (s *Store) AllowDevice(ctx context.Context, id, owner string, now time.Time) error {
	r, err := s.on(ctx).exec("UPDATE app_credentials SET owner = ? WHERE id = ? AND kind = ? AND owner = '' AND expires_at > ?",
		owner, id, string(Device), micro(now))
	return affected(r, err, "waiting program with this code", "")
}

// AskDevice returns the Device of a secret, and notes when it was asked for. Its Used is the
// time of the question before. Auth if there is none, or not any more.
func (s *Store) AskDevice(ctx context.Context, secret string, now time.Time) (c Credential, err error) {
	err = s.change(ctx, func(t tx) error {
		c, err = one(t, credential, errDevice, "SELECT "+credentialColumns+" FROM app_credentials WHERE hash = ? AND kind = ? AND expires_at > ?",
			Hash(secret), string(Device), micro(now))
		if err != nil {
			return err
		}
		_, err = t.exec("UPDATE app_credentials SET used_at = ? WHERE id = ?", micro(now), c.ID)
		return err
	})
	return c, err
}

// TakeDevice uses up a Device that was allowed, even if several clients ask at the same time.
// Auth if there is none.
func (s *Store) TakeDevice(ctx context.Context, id string) (Credential, error) {
	return one(s.on(ctx), credential, errDevice, "DELETE FROM app_credentials WHERE id = ? AND kind = ? AND owner <> '' RETURNING "+credentialColumns, id, string(Device))
}

var errDevice = fault.New(fault.Auth, "the code is unknown, was used, or is no longer valid")
