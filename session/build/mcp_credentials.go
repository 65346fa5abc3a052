package build

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/tool/mcp"
)

// serverCredentials are the secret values of a server's entry, which results and descriptions may
// repeat.
func serverCredentials(s mcp.Server) (all []string) {
	add := func(values ...string) {
		for _, v := range values {
			if len(v) >= secret.LeastKey {
				all = append(all, v)
			}
		}
	}
	named := func(values map[string]string, any bool) {
		for name, v := range values {
			if any || secret.Sensitive(name) {
				_, bare, _ := strings.Cut(v, " ") // of "Bearer …"
				add(v, bare)
			}
		}
	}
	named(s.Headers, false)
	named(s.Env, false)
	if a := s.Auth; a != nil {
		var login struct {
			Tokens struct {
				Access  string `json:"access_token"`
				Refresh string `json:"refresh_token"`
			} `json:"tokens"`
		}
		_ = json.Unmarshal(a.State, &login) // a state of another form has no tokens
		add(a.Value, a.Password, login.Tokens.Access, login.Tokens.Refresh)
		if a.Password != "" {
			add(base64.StdEncoding.EncodeToString([]byte(a.Username + ":" + a.Password)))
		}
		named(a.Headers, true)
	}
	if u, err := url.Parse(s.URL); err == nil {
		password, _ := u.User.Password()
		add(password)
		for name, values := range u.Query() {
			if secret.Sensitive(name) {
				add(values...)
			}
		}
	}
	return all
}
