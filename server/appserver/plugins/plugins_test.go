package plugins_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/server/appserver/plugins"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
)

// TestRoutes installs, asks, switches, updates and removes, as the page does.
func TestRoutes(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	persistence, market := filepath.Join(home, ".openhands"), filepath.Join(home, "market")
	service, err := settings.Open(t.Context(), settings.Options{Dir: persistence, Keys: keyring.New("master")})
	must.Succeed(t, err)
	testtree.Write(t, market, map[string]string{
		".plugin/marketplace.json":             `{"name":"m","plugins":[{"name":"guard","source":"./guard"},{"name":"out","source":"/etc"}]}`,
		"guard/.claude-plugin/plugin.json":     `{"name":"guard"}`,
		"guard/hooks/hooks.json":               `{"Stop":[{"hooks":[{"command":"true"}]}]}`,
		"text/.claude-plugin/plugin.json":      `{"name":"text","description":"only text"}`,
		"text/commands/go.md":                  "go",
		"broken/.claude-plugin/plugin.json":    `{`,
		"linked/.claude-plugin/plugin.json":    `{"name":"linked"}`,
		"linked/commands":                      "->/etc",
		"nothing/README":                       "x",
		"../.agents/plugins/own/commands/a.md": "mine",
	})
	url := func(directories bool) string {
		s := plugins.New(plugins.Options{
			Home: home, Persistence: persistence, Directories: directories,
			Settings: func(context.Context, identity.Tenant) (*settings.Service, error) { return service, nil },
		})
		handler, err := rest.New(rest.Options{Routes: s.Routes(), Authenticate: func(r *http.Request) (identity.Caller, error) {
			c := identity.Local()
			c.User = identity.User(r.Header.Get("X-Owner"))
			return c, nil
		}})
		must.Succeed(t, err)
		h := httptest.NewServer(handler)
		t.Cleanup(h.Close)
		return h.URL
	}
	here, elsewhere := url(true), url(false)
	text := func(v string) string {
		b, err := json.Marshal(v)
		must.Succeed(t, err)
		return string(b)
	}
	for _, c := range []struct {
		server, owner, method, path, body string
		status                            int
		want                              string
	}{
		{here, "somebody", "GET", "/plugins", "", 200, `{"available":false,"plugins":[],"problems":[]}`},
		{here, "somebody", "POST", "/plugins", `{"source":"github:a/b"}`, 403, "installed by the user of this machine"},
		{here, "somebody", "GET", "/plugin-marketplaces", "", 403, ""},
		{elsewhere, "", "POST", "/plugins", `{"source":` + text(market+"/text") + `}`, 403, "loads plugins from repositories only"},
		{here, "", "GET", "/plugins", "", 200, `"name":"own"`},
		{here, "", "POST", "/plugins", `{"source":` + text(market+"/text") + `}`, 200, `"installed":true,"plugin":{"name":"text"`},
		{here, "", "POST", "/plugins", `{"source":` + text(market+"/text") + `}`, 409, "text is installed already"},
		{here, "", "POST", "/plugins", `{"source":` + text(market+"/broken") + `}`, 422, "not a JSON object"},
		{here, "", "POST", "/plugins", `{"source":` + text(market+"/linked") + `}`, 422, "the link commands leads out"},
		{here, "", "POST", "/plugins", `{"source":` + text(market+"/nothing") + `}`, 422, "there is no plugin in it"},
		{here, "", "POST", "/plugins", `{"source":` + text(market+"/gone") + `}`, 422, "cannot be fetched"},
		{here, "", "POST", "/plugins", `{"source":"x","repo_path":"../y"}`, 422, "repo_path"},
		{here, "", "POST", "/plugins", `{"source":"guard@mine"}`, 404, "there is no marketplace mine"},
		{here, "", "POST", "/plugin-marketplaces", `{"name":"mine","source":` + text(market) + `}`, 200, ""},
		{here, "", "POST", "/plugin-marketplaces", `{"name":"mine","source":` + text(market) + `}`, 409, "already"},
		{here, "", "POST", "/plugin-marketplaces", `{"name":"no","source":` + text(market+"/text") + `}`, 422, "names no plugins"},
		{here, "", "GET", "/plugin-marketplaces", "", 200, `{"marketplaces":[{"name":"mine"`},
		{here, "", "GET", "/plugin-marketplaces/mine", "", 200, `"why":"its source /etc leads out of the marketplace"`},
		{here, "", "POST", "/plugins", `{"source":"guard@mine"}`, 200, `{"installed":false,"plugin":{"name":"guard"`},
		{here, "", "POST", "/plugins", `{"source":"guard@mine","allow":["hook at Stop: runs something else"]}`, 200, `"installed":false`},
		{here, "", "POST", "/plugins", `{"source":"guard@mine","allow":["hook at Stop: runs true, 60 s at most"]}`, 200, `"installed":true`},
		{here, "", "PATCH", "/plugins/guard", `{"enabled":false}`, 200, `"enabled":false`},
		{here, "", "POST", "/plugins/guard/update", `{}`, 200, `"installed":true`},
		{here, "", "GET", "/plugins", "", 200, `"name":"guard","version":"1.0.0","description":"","enabled":false`},
		{here, "", "DELETE", "/plugins/guard", "", 200, ""},
		{here, "", "DELETE", "/plugins/guard", "", 404, "guard is not installed"},
		{here, "", "DELETE", "/plugins/..%2F..", "", 404, "is not installed"},
		{here, "", "DELETE", "/plugin-marketplaces/mine", "", 200, ""},
		{here, "", "DELETE", "/plugin-marketplaces/mine", "", 404, "there is no marketplace mine"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, c.server+"/api/v1"+c.path, strings.NewReader(c.body))
		must.Succeed(t, err)
		if c.owner == "" {
			c.owner = string(identity.LocalUser)
		}
		req.Header.Set("X-Owner", c.owner)
		resp, err := http.DefaultClient.Do(req)
		must.Succeed(t, err)
		raw, err := io.ReadAll(resp.Body)
		must.Succeed(t, err)
		must.Succeed(t, resp.Body.Close())
		if resp.StatusCode != c.status || !strings.Contains(string(raw), c.want) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body, resp.StatusCode, raw, c.status, c.want)
		}
	}
}
