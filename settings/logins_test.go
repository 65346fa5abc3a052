package settings_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/settings"
)

// TestLogins keeps logins sealed, changes and removes them, and bounds them.
func TestLogins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ring := keyring.New("a-key-of-the-test")
	s, err := settings.Open(t.Context(), settings.Options{Dir: dir, Keys: ring})
	must.Succeed(t, err)
	const key = "https://mcp.example:443/mcp"
	set := func(key, value string) {
		t.Helper()
		must.Succeed(t, s.ChangeLogin(t.Context(), key, func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(value), nil }))
	}
	if got, err := s.Login(t.Context(), key); got != nil || err != nil {
		t.Errorf("none: %s, %v", got, err)
	}
	set(key, `{"token":"t0ken"}`)
	stored, err := os.ReadFile(filepath.Join(dir, "mcp_logins.json"))
	must.Succeed(t, err)
	if strings.Contains(string(stored), "t0ken") || !strings.Contains(string(stored), key) {
		t.Errorf("stored: %s", stored)
	}
	other, err := settings.Open(t.Context(), settings.Options{Dir: dir, Keys: ring})
	must.Succeed(t, err)
	if got, err := other.Login(t.Context(), key); string(got) != `{"token":"t0ken"}` || err != nil {
		t.Errorf("read by another: %s, %v", got, err)
	}
	broken := errors.New("the server refuses")
	err = s.ChangeLogin(t.Context(), key, func(now json.RawMessage) (json.RawMessage, error) {
		if string(now) != `{"token":"t0ken"}` {
			t.Errorf("changed: %s", now)
		}
		return nil, broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	for i := range 300 {
		set(fmt.Sprintf("%s#%d", key, i), `{}`)
	}
	names, err := s.Logins()
	if err != nil || len(names) != 256 || names[0] != key || names[255] != key+"#299" {
		t.Errorf("%d logins, %v", len(names), err)
	}
	must.Succeed(t, s.ChangeLogin(t.Context(), key, func(json.RawMessage) (json.RawMessage, error) { return nil, nil }))
	if got, err := s.Login(t.Context(), key); got != nil || err != nil {
		t.Errorf("removed: %s, %v", got, err)
	}
}
