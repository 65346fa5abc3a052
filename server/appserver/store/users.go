package store

import (
	"context"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// User is a person who has signed in at an identity provider. Her ID is the owner of her rows.
type User struct {
	ID string
	// Issuer and Subject are the person's one name at the provider.
	Issuer, Subject string
	// Email and Name are as the provider said last.
	Email, Name   string
	Created, Seen time.Time
}

const userColumns = "id, issuer, subject, email, name, created_at, seen_at"

func user(row scanner) (u User, err error) {
	err = row.Scan(&u.ID, &u.Issuer, &u.Subject, &u.Email, &u.Name, stored{&u.Created}, stored{&u.Seen})
	return u, err
}

// SignedIn stores that a person has signed in at a time, u.Seen, and returns the user, who is
// made at the first time.
func (s *Store) SignedIn(ctx context.Context, u User) (User, error) {
	u.ID = "user-" + event.NewConversationID().Hex()
	return one(s.on(ctx), user, nil, "INSERT INTO app_users ("+userColumns+") VALUES ("+marks(7)+")"+
		" ON CONFLICT (issuer, subject) DO UPDATE SET email = excluded.email, name = excluded.name, seen_at = excluded.seen_at RETURNING "+userColumns,
		u.ID, u.Issuer, u.Subject, u.Email, u.Name, micro(u.Seen), micro(u.Seen))
}

// User returns a user. NotFound if there is none.
func (s *Store) User(ctx context.Context, id string) (User, error) {
	return one(s.on(ctx), user, missing("user", id), "SELECT "+userColumns+" FROM app_users WHERE id = ?", id)
}

// EndSessions ends sessions of browsers whose users signed in at an issuer: the user's with a
// subject, those that began with a session of the provider, or with both only these. It returns how many
// there were.
func (s *Store) EndSessions(ctx context.Context, issuer, subject, session string) (int64, error) {
	if subject == "" && session == "" {
		return 0, fault.New(fault.Invalid, "no session is named")
	}
	r, err := s.on(ctx).exec("DELETE FROM app_credentials WHERE kind = ? AND owner IN (SELECT id FROM app_users WHERE issuer = ? AND (? = '' OR subject = ?)) AND (? = '' OR provider_session = ?)",
		string(Cookie), issuer, subject, subject, session, session)
	if err != nil {
		return 0, failed(err)
	}
	n, err := r.RowsAffected()
	return n, failed(err)
}

// SignIn is a sign-in that a browser has begun at an identity provider. State and Browser are
// secrets, of which only hashes are stored.
type SignIn struct {
	// State comes back from the provider, Browser is the browser's own.
	State, Browser string
	// Target is the page that the browser wants.
	Target  string
	Expires time.Time
}

// BeginSignIn stores a sign-in, and forgets the ones that have expired at a time.
func (s *Store) BeginSignIn(ctx context.Context, b SignIn, now time.Time) error {
	return s.change(ctx, func(t tx) error {
		if _, err := t.exec("DELETE FROM app_sign_ins WHERE expires_at <= ?", micro(now)); err != nil {
			return err
		}
		_, err := t.exec("INSERT INTO app_sign_ins (state, browser, target, expires_at) VALUES ("+marks(4)+")", Hash(b.State), Hash(b.Browser), b.Target, micro(b.Expires))
		return err
	})
}

// EndSignIn returns the page that a browser wants, once: a sign-in that is unknown, of another
// browser, expired or ended before is an error of kind Auth.
func (s *Store) EndSignIn(ctx context.Context, state, browser string, now time.Time) (target string, err error) {
	unknown := fault.New(fault.Auth, "the sign-in has ended, or began in another browser")
	return one(s.on(ctx), value[string], unknown, "DELETE FROM app_sign_ins WHERE state = ? AND browser = ? AND expires_at > ? RETURNING target", Hash(state), Hash(browser), micro(now))
}
