package settings_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/oauthtest"
)

// TestMCPLogins logs in at an MCP server of the settings: the browser that began, and no other one,
// ends it with what it got. Answers, log and files have no token and no code. Another user has no
// part of it.
func TestMCPLogins(t *testing.T) {
	t.Parallel()
	s := serve(t)
	as := oauthtest.Start(t, http.NotFoundHandler())
	const alice, servers = "Cookie alice", "/api/v1/settings/mcp-servers/"
	s.want(200, alice, "POST", "/api/v1/settings", fmt.Sprintf(`{"agent_settings_diff":{"mcp_config":{"mcpServers":{
		"docs":{"url":%q},"gone":{"url":"http://127.0.0.1:1/mcp"},"files":{"command":"touch"}}}}}`, as.URL))
	listed := func(who string, want ...any) {
		t.Helper()
		got := s.want(200, who, "GET", servers+"logins", "")
		if d := cmp.Diff(append([]any{}, want...), at(got.Body, "servers")); d != "" {
			t.Errorf("logins of %s (-want +got):\n%s", who, d)
		}
	}
	begin := func() string {
		t.Helper()
		got := s.want(200, alice, "POST", servers+"docs/login", "", "X-Browser", "first")
		address, _ := at(got.Body, "authorization_url").(string)
		return address
	}
	end := func(status int, who, browser, address string) answer {
		t.Helper()
		query := as.Redirect(t, address).Query()
		body := fmt.Sprintf(`{"state":%q,"code":%q,"iss":%q,"error":%q}`, query.Get("state"), query.Get("code"), query.Get("iss"), query.Get("error"))
		return s.want(status, who, "POST", servers+"logins", body, "X-Browser", browser)
	}
	listed(alice)
	address := begin()
	if !strings.Contains(address, "redirect_uri=https%3A%2F%2Fdeft.example%2Fmcp-login") {
		t.Errorf("address %s", address)
	}
	end(404, alice, "second", address) // another session of hers, perhaps stolen
	end(404, "Cookie bob", "first", address)
	s.want(404, alice, "POST", servers+"logins", `{"state":"forged","code":"x"}`, "X-Browser", "first")
	s.want(422, alice, "POST", servers+"logins", `{"code":"x"}`, "X-Browser", "first")
	if got := end(200, alice, "first", address); at(got.Body, "works") != true || at(got.Body, "name") != "docs" {
		t.Errorf("login: %s", got.Text)
	}
	listed(alice, "docs")
	listed("Cookie bob")
	s.want(200, alice, "DELETE", servers+"docs/login", "")
	listed(alice)

	as.Refuse = "access_denied"
	if got := end(200, alice, "first", begin()); at(got.Body, "works") != false || !strings.Contains(got.Text, "refused: access_denied") {
		t.Errorf("refused: %s", got.Text)
	}
	for name, status := range map[string]int{"files": 422, "gone": 503, "other": 404} {
		s.want(status, alice, "POST", servers+name+"/login", "")
	}
	s.want(404, "Cookie bob", "POST", servers+"docs/login", "")
	s.want(403, "Sandbox alice", "POST", servers+"docs/login", "")
	must.Succeed(t, filepath.WalkDir(s.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, value := range []string{"access-", "refresh-", "code-"} {
			if strings.Contains(string(raw), value) {
				t.Errorf("%s is in %s", value, path)
			}
		}
		return err
	}))
	for _, value := range []string{"access-", "refresh-", "code-"} {
		if strings.Contains(s.log.String(), value) {
			t.Errorf("%s is in the log", value)
		}
	}
}
