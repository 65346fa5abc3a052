package store_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/appserver/store"
)

func TestUsers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		s, ctx := d.store(t), t.Context()
		ann, err := s.SignedIn(ctx, store.User{Issuer: "https://a", Subject: "1", Email: "ann@x", Name: "Ann", Seen: when(1)})
		must.Succeed(t, err)
		again, err := s.SignedIn(ctx, store.User{Issuer: "https://a", Subject: "1", Email: "ann@y", Name: "Ann B", Seen: when(2)})
		must.Succeed(t, err)
		same(t, store.User{ID: ann.ID, Issuer: "https://a", Subject: "1", Email: "ann@y", Name: "Ann B", Created: when(1), Seen: when(2)}, again)
		if !strings.HasPrefix(ann.ID, "user-") {
			t.Errorf("the user's id is %q", ann.ID)
		}
		// One e-mail address is not one person, and a subject is one of its issuer only.
		other, err := s.SignedIn(ctx, store.User{Issuer: "https://b", Subject: "1", Email: "ann@y", Name: "Ann B", Seen: when(3)})
		must.Succeed(t, err)
		if other.ID == ann.ID {
			t.Error("people of two issuers are one user")
		}
		found, err := s.User(ctx, ann.ID)
		must.Succeed(t, err)
		same(t, again, found)
		_, err = s.User(ctx, "local")
		wantKind(t, err, fault.NotFound)
	})
}

func TestEndSessions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		s, ctx := d.store(t), t.Context()
		users := map[string]string{}
		for _, u := range []store.User{{Issuer: "a", Subject: "ann"}, {Issuer: "a", Subject: "bob"}, {Issuer: "b", Subject: "ann"}} {
			made, err := s.SignedIn(ctx, u)
			must.Succeed(t, err)
			users[u.Issuer+u.Subject] = made.ID
		}
		fill := func() {
			for secret, c := range map[string]store.Credential{
				"ann 1":    {Owner: users["aann"], Kind: store.Cookie, ProviderSession: "s1"},
				"ann 2":    {Owner: users["aann"], Kind: store.Cookie, ProviderSession: "s2"},
				"ann key":  {Owner: users["aann"], Kind: store.APIKey},
				"bob":      {Owner: users["abob"], Kind: store.Cookie, ProviderSession: "s3"},
				"b's ann":  {Owner: users["bann"], Kind: store.Cookie, ProviderSession: "s1"},
				"no one's": {Owner: "local", Kind: store.Cookie},
			} {
				c.ID = secret
				must.Succeed(t, s.AddCredential(ctx, c, secret))
			}
		}
		for _, c := range []struct {
			issuer, subject, session string
			gone                     string
		}{
			{"a", "ann", "", "ann 1,ann 2"},
			{"a", "", "s1", "ann 1"},
			{"a", "ann", "s2", "ann 2"},
			{"a", "bob", "s1", ""},
			{"b", "ann", "", "b's ann"},
			{"c", "ann", "", ""},
		} {
			fill()
			n, err := s.EndSessions(ctx, c.issuer, c.subject, c.session)
			must.Succeed(t, err)
			var gone []string
			for _, secret := range []string{"ann 1", "ann 2", "ann key", "bob", "b's ann", "no one's"} {
				found, err := s.Credential(ctx, secret, when(0))
				if fault.Is(err, fault.Auth) {
					gone = append(gone, secret)
					continue
				}
				must.Succeed(t, err)
				must.Succeed(t, s.DeleteCredential(ctx, found.Owner, found.ID))
			}
			if got := strings.Join(gone, ","); got != c.gone || int(n) != len(gone) {
				t.Errorf("%v ends %q (%d)", c, got, n)
			}
		}
		_, err := s.EndSessions(ctx, "a", "", "")
		wantKind(t, err, fault.Invalid)
	})
}

func TestSignIns(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d database) {
		s, ctx := d.store(t), t.Context()
		must.Succeed(t, s.BeginSignIn(ctx, store.SignIn{State: "s", Browser: "b", Target: "/x", Expires: when(10)}, when(0)))
		for _, c := range [][2]string{{"s", "other"}, {"other", "b"}, {"s", ""}, {"", "b"}} {
			_, err := s.EndSignIn(ctx, c[0], c[1], when(1))
			wantKind(t, err, fault.Auth)
		}
		target, err := s.EndSignIn(ctx, "s", "b", when(1))
		if must.Succeed(t, err); target != "/x" {
			t.Errorf("the browser wants %q", target)
		}
		_, err = s.EndSignIn(ctx, "s", "b", when(1))
		wantKind(t, err, fault.Auth)
		must.Succeed(t, s.BeginSignIn(ctx, store.SignIn{State: "late", Browser: "b", Target: "/x", Expires: when(10)}, when(0)))
		_, err = s.EndSignIn(ctx, "late", "b", when(10))
		wantKind(t, err, fault.Auth)
		must.Succeed(t, s.BeginSignIn(ctx, store.SignIn{State: "next", Browser: "b", Expires: when(99)}, when(10)))
		_, err = s.EndSignIn(ctx, "late", "b", when(1)) // it was forgotten
		wantKind(t, err, fault.Auth)
	})
}
