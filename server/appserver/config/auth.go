package config

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/llm"
)

// Auth is the identity provider by which people sign in, beside the printed link.
type Auth struct {
	// Issuer is empty where nobody signs in so.
	Issuer       string     `toml:"issuer" example:"https://id.example.org/realms/work" help:"Address of an OpenID Connect provider, exactly as it names itself; people then sign in there, and each has conversations and settings of an own."`
	Name         string     `toml:"name" example:"Example Ltd" help:"Name of the provider for people (default: the host of its address)."`
	ClientID     string     `toml:"client_id" example:"deft" help:"Id of the client that you have registered there for this server. Its redirect address is /api/v1/sign-in/callback at server.public_url, its back-channel logout address /api/v1/sign-in/ended."`
	ClientSecret llm.Secret `toml:"client_secret" example:"…" help:"The client's secret, if it has one."`
	// ClientSecretFile is read by Load.
	ClientSecretFile string   `toml:"client_secret_file" path:"true" example:"/run/secrets/oidc-client" help:"File with the client's secret."`
	Scopes           []string `toml:"scopes" default:"profile,email" example:"profile,email,groups" help:"Scopes that are asked for beside openid."`
	GroupsClaim      string   `toml:"groups_claim" default:"groups" example:"roles" help:"Claim of the ID token that has a person's groups."`
	// AllowedDomains, AllowedUsers and AllowedGroups are as in [identity.Admission].
	AllowedDomains []string      `toml:"allowed_domains" example:"example.org" help:"Domains of verified e-mail addresses whose people may use the server (default: all people that the provider knows)."`
	AllowedUsers   []string      `toml:"allowed_users" example:"ann@example.org" help:"Verified e-mail addresses of further people who may."`
	AllowedGroups  []string      `toml:"allowed_groups" example:"developers" help:"Groups of which a person needs one."`
	SessionTime    time.Duration `toml:"session_time" min:"60" default:"12h" example:"1h" help:"How long a browser stays signed in."`
}

// Admission says who may use the server.
func (a Auth) Admission() identity.Admission {
	return identity.Admission{Domains: a.AllowedDomains, Users: a.AllowedUsers, Groups: a.AllowedGroups}
}

// Title is the name of the provider for people.
func (a Auth) Title() string {
	u, err := url.Parse(a.Issuer)
	if err != nil { // it was checked
		return a.Name
	}
	return cmp.Or(a.Name, u.Hostname())
}

// Local reports whether the server is for its owner alone, on this machine.
func (c *Config) Local() bool { return c.Auth.Issuer == "" && c.Server.forThisMachine() }

func (l *loader) checkAuth() {
	c := &l.config.Auth
	if l.alternatives("auth.client_secret", "auth.client_secret_file") == "auth.client_secret_file" {
		c.ClientSecret = l.secretFile("auth.client_secret_file", c.ClientSecretFile)
	}
	if c.Issuer == "" {
		for _, s := range Settings() {
			if strings.HasPrefix(s.Key, "auth.") && l.from[s.Key].Kind != FromDefault {
				l.bad(s.Key, "needs auth.issuer, the address of the identity provider")
				return
			}
		}
		return
	}
	l.address("auth.issuer", c.Issuer)
	if u, err := url.Parse(c.Issuer); err == nil && u.Scheme == "http" && !loopback(u.Hostname()) {
		l.bad("auth.issuer", "must begin with https://: who answers for it signs everybody in")
	}
	if c.ClientID == "" {
		l.bad("auth.issuer", "needs auth.client_id, the client that you have registered there")
	}
	for i, d := range c.AllowedDomains {
		c.AllowedDomains[i] = strings.TrimPrefix(d, "@")
	}
	if slices.ContainsFunc(c.AllowedUsers, func(u string) bool { return !strings.Contains(u, "@") }) {
		l.bad("auth.allowed_users", "must have e-mail addresses")
	}
}

// keycloak takes over OpenHands' variables of a Keycloak realm.
func (l *loader) keycloak() {
	server := cmp.Or(l.env("KEYCLOAK_SERVER_URL_EXT"), l.env("KEYCLOAK_SERVER_URL"))
	realm := l.env("KEYCLOAK_REALM_NAME")
	if server == "" || realm == "" {
		return
	}
	for _, v := range []struct{ key, name, value string }{
		{"auth.issuer", "KEYCLOAK_REALM_NAME", strings.TrimSuffix(server, "/") + "/realms/" + url.PathEscape(realm)},
		{"auth.client_id", "KEYCLOAK_CLIENT_ID", l.env("KEYCLOAK_CLIENT_ID")},
		{"auth.client_secret", "KEYCLOAK_CLIENT_SECRET", l.env("KEYCLOAK_CLIENT_SECRET")},
	} {
		if s, ok := setting(v.key); ok && v.value != "" {
			l.set(s, v.value, Source{Kind: FromVariable, Name: v.name}, "")
		}
	}
}
