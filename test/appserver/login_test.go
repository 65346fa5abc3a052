package appserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/oauthtest"
	"github.com/deft-dev/deft/internal/postgrestest"
)

// TestLoginAtOtherServer begins logins at an MCP server at one server, and comes back to another one on
// the same database, as a load balancer has it: the first one ends them, for the same browser
// alone and once. One that was begun at a server which has ended must be begun again.
func TestLoginAtOtherServer(t *testing.T) {
	t.Parallel()
	database := postgrestest.URL(t)
	const script = "turns: [{reply: {text: done}}]"
	one := deploy(t, script, options{database: database})
	other := one.again(t, options{database: database})
	as := oauthtest.Start(t, http.NotFoundHandler())
	const servers = "/api/v1/settings/mcp-servers/"
	one.owner.do(t, "POST", one.url+"/api/v1/settings", map[string]any{"agent_settings_diff": map[string]any{
		"mcp_config": map[string]any{"mcpServers": map[string]any{"docs": map[string]any{"url": as.URL}}},
	}}, nil)
	begin := func(at deployment) map[string]string {
		t.Helper()
		var begun struct {
			Address string `json:"authorization_url"`
		}
		one.owner.do(t, "POST", at.url+servers+"docs/login", nil, &begun)
		query := as.Redirect(t, begun.Address).Query()
		return map[string]string{"state": query.Get("state"), "code": query.Get("code"), "iss": query.Get("iss")}
	}
	end := func(who *client, at deployment, back map[string]string, want int, says string) {
		t.Helper()
		status, raw := who.send(t, "POST", at.url+servers+"logins", back)
		if status != want || !strings.Contains(string(raw), says) {
			t.Errorf("the end of a login: %d %s, want %d with %s", status, raw, want, says)
		}
	}
	loggedIn := func(want string) {
		t.Helper()
		for _, at := range []deployment{one, other} {
			var found json.RawMessage
			one.owner.do(t, "GET", at.url+servers+"logins", nil, &found)
			if string(found) != fmt.Sprintf(`{"servers":%s}`, want) {
				t.Errorf("logins: %s, want %s", found, want)
			}
		}
	}

	back := begin(one)
	end(other.owner, other, back, 404, "begin it again") // another browser of the same person
	loggedIn("[]")
	end(one.owner, other, back, 200, `"works":true,`)
	loggedIn(`["docs"]`)
	end(one.owner, other, back, 404, "begin it again")
	one.owner.do(t, "DELETE", other.url+servers+"docs/login", nil, nil)
	loggedIn("[]")

	as.Refuse = "access_denied"
	back = begin(other)
	back["error"] = "access_denied"
	end(one.owner, one, back, 200, "refused: access_denied")
	as.Refuse = ""

	third := one.again(t, options{database: database})
	back = begin(third)
	third.kill(t)
	end(one.owner, other, back, 404, "begin it again")
	end(one.owner, other, map[string]string{"state": "forged", "code": "x"}, 404, "begin it again")
}
