package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/settings"
)

// TestRenewProviderToken: of several processes one renews a token, and a refusal is not
// repeated.
func TestRenewProviderToken(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	open := func() *settings.Service {
		s, err := settings.Open(ctx, settings.Options{Dir: dir, Keys: keyring.New("key")})
		must.Succeed(t, err)
		return s
	}
	a, b := open(), open()
	token := settings.ProviderToken{Token: "t0", UserID: "u", RefreshToken: "r0", Expires: 100}
	set := func(one settings.ProviderToken) {
		t.Helper()
		must.Succeed(t, a.SetProviderTokens(ctx, map[string]settings.ProviderToken{"gitlab": one}))
	}
	is := func(want settings.ProviderToken) {
		t.Helper()
		got, err := b.ProviderTokens(ctx)
		if d := cmp.Diff(map[string]settings.ProviderToken{"gitlab": want}, got); d != "" || err != nil {
			t.Error(err, d)
		}
	}
	due := func(t settings.ProviderToken) bool { return t.RefreshToken != "" && t.Expires <= 100 }
	set(token)
	is(token)
	raw, err := os.ReadFile(filepath.Join(dir, "secrets.json"))
	if err != nil || strings.Contains(string(raw), `"r0"`) || strings.Contains(string(raw), `"t0"`) {
		t.Errorf("stored in the clear: %s, %v", raw, err)
	}

	renewed := token
	renewed.Token, renewed.RefreshToken, renewed.Expires = "t1", "r1", 200
	calls := 0
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			got, err := []*settings.Service{a, b}[i%2].RenewProviderToken(ctx, "gitlab", due, func(settings.ProviderToken) (settings.ProviderToken, error) {
				calls++ // one at a time
				return renewed, nil
			})
			if d := cmp.Diff(renewed, got); d != "" || err != nil {
				t.Error(err, d)
			}
		})
	}
	wg.Wait()
	if calls != 1 {
		t.Errorf("renewed %d times", calls)
	}
	is(renewed)
	set(settings.ProviderToken{UserID: "u"}) // an empty one keeps the stored one
	is(renewed)

	set(token)
	_, err = a.RenewProviderToken(ctx, "gitlab", due, func(old settings.ProviderToken) (settings.ProviderToken, error) {
		return old, fault.New(fault.Unavailable, "away")
	})
	if !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
	is(token)
	if _, err = a.RenewProviderToken(ctx, "gitlab", due, func(old settings.ProviderToken) (settings.ProviderToken, error) {
		return old, fault.New(fault.Auth, "refused")
	}); !fault.Is(err, fault.Auth) {
		t.Error(err)
	}
	refused := token
	refused.RefreshToken = ""
	is(refused)
	if got, err := a.RenewProviderToken(ctx, "github", due, nil); err != nil || got != (settings.ProviderToken{}) {
		t.Errorf("no token at all: %+v, %v", got, err)
	}
}
