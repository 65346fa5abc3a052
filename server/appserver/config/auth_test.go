package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/appserver/config"
)

func TestAuth(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	must.Succeed(t, os.WriteFile(secret, []byte("s3cret\n"), 0o600))
	m := newMachine(t, nil,
		"DEFT_AUTH_ISSUER=https://id.example.org/realms/work/", "DEFT_AUTH_CLIENT_ID=deft", "DEFT_AUTH_CLIENT_SECRET_FILE="+secret,
		"DEFT_AUTH_ALLOWED_DOMAINS=@example.org,example.com", "DEFT_AUTH_ALLOWED_USERS=ann@example.net", "DEFT_AUTH_ALLOWED_GROUPS=dev", "DEFT_AUTH_SESSION_TIME=1h")
	c, _, _ := m.load(t)
	if a := c.Auth; a.Issuer != "https://id.example.org/realms/work/" || a.ClientSecret.Reveal() != "s3cret" || a.Title() != "id.example.org" || a.SessionTime != time.Hour || !cmp.Equal(a.Scopes, []string{"profile", "email"}) {
		t.Errorf("%+v", a)
	}
	want := identity.Admission{Domains: []string{"example.org", "example.com"}, Users: []string{"ann@example.net"}, Groups: []string{"dev"}}
	if d := cmp.Diff(want, c.Auth.Admission()); d != "" {
		t.Error(d)
	}
}

// TestKeycloak takes over OpenHands' variables.
func TestKeycloak(t *testing.T) {
	t.Parallel()
	given := []string{"KEYCLOAK_SERVER_URL=http://keycloak:8080", "KEYCLOAK_SERVER_URL_EXT=https://id.example.org/", "KEYCLOAK_REALM_NAME=all hands", "KEYCLOAK_CLIENT_ID=allhands", "KEYCLOAK_CLIENT_SECRET=s3cret"}
	c, _, report := newMachine(t, nil, given...).load(t)
	if a := c.Auth; a.Issuer != "https://id.example.org/realms/all%20hands" || a.ClientID != "allhands" || a.ClientSecret.Reveal() != "s3cret" {
		t.Errorf("%+v", a)
	}
	for _, v := range report.Values {
		if strings.Contains(v.Text, "s3cret") {
			t.Errorf("%s is shown", v.Setting.Key)
		}
	}
	if c, _, _ = newMachine(t, nil, append(given, "DEFT_AUTH_CLIENT_ID=deft")...).load(t); c.Auth.ClientID != "deft" {
		t.Errorf("our own variable does not count before OpenHands': %+v", c.Auth)
	}
	if c, _, _ = newMachine(t, nil, "KEYCLOAK_SERVER_URL=http://keycloak:8080").load(t); c.Auth.Issuer != "" {
		t.Errorf("a server without a realm is an identity provider: %+v", c.Auth)
	}
}

func TestAuthMistakes(t *testing.T) {
	t.Parallel()
	for environ, says := range map[string]string{
		"DEFT_AUTH_CLIENT_ID=deft":                                                                                           "needs auth.issuer",
		"DEFT_AUTH_ISSUER=https://id.example.org":                                                                            "needs auth.client_id",
		"DEFT_AUTH_ISSUER=id.example.org DEFT_AUTH_CLIENT_ID=deft":                                                           "must be a URL",
		"DEFT_AUTH_ISSUER=http://id.example.org DEFT_AUTH_CLIENT_ID=deft":                                                    "must begin with https://",
		"DEFT_AUTH_ISSUER=https://id.example.org?x=1 DEFT_AUTH_CLIENT_ID=deft":                                               "must not have a query",
		"DEFT_AUTH_ISSUER=https://a.example DEFT_AUTH_CLIENT_ID=x DEFT_AUTH_ALLOWED_USERS=ann":                               "must have e-mail addresses",
		"DEFT_AUTH_ISSUER=https://a.example DEFT_AUTH_CLIENT_ID=x DEFT_AUTH_SESSION_TIME=1s":                                 "must be at least",
		"DEFT_AUTH_ISSUER=https://a.example DEFT_AUTH_CLIENT_ID=x DEFT_AUTH_CLIENT_SECRET=a DEFT_AUTH_CLIENT_SECRET_FILE=/x": "exclude each other",
	} {
		_, _, err := config.Load(newMachine(t, nil, strings.Fields(environ)...).Sources)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", environ, err, says)
		}
	}
}
