package appserver_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of the tables

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
)

// renewing is a GitHub whose tokens expire. It answers as GitHub documents.
type renewing struct {
	*httptest.Server
	mu      sync.Mutex
	valid   map[string]bool   // access tokens
	refresh map[string]string // from a refresh token, which is valid once, to the next token
	asked   int               // how often a token was to be renewed
}

func newRenewing(t *testing.T) *renewing {
	t.Helper()
	g := &renewing{valid: map[string]bool{"ghu_0": true}, refresh: map[string]string{"ghr_0": "1"}}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case r.URL.Path == "/login/oauth/access_token":
			g.asked++
			n, ok := g.refresh[r.FormValue("refresh_token")]
			if !ok || r.FormValue("client_id") != "Iv1.x" || r.FormValue("client_secret") != "app-secret" || r.FormValue("grant_type") != "refresh_token" {
				_, _ = io.WriteString(w, `{"error":"bad_refresh_token","error_description":"The refresh token passed is incorrect or expired."}`)
				return
			}
			delete(g.refresh, r.FormValue("refresh_token"))
			g.valid = map[string]bool{"ghu_" + n: true} // the old one is void
			_, _ = fmt.Fprintf(w, `{"access_token":"ghu_%s","expires_in":28800,"refresh_token":"ghr_%s","refresh_token_expires_in":15811200,"scope":"","token_type":"bearer"}`, n, n)
		case !g.valid[token]:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"message": "Bad credentials"}`)
		case r.URL.Path == "/api/v3/user":
			_, _ = io.WriteString(w, `{"id": 1, "login": "octocat"}`)
		case r.URL.Path == "/api/v3/user/repos":
			_, _ = io.WriteString(w, `[{"id": 7, "full_name": "octocat/r", "default_branch": "main", "owner": {"type": "User"}}]`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *renewing) times() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked
}

// TestRenewedTokens: a token that is about to expire is renewed once before it is used,
// whichever of two servers uses it; conversations get the new one; and who must sign in again
// is told so, once.
func TestRenewedTokens(t *testing.T) {
	t.Parallel()
	hub, database := newRenewing(t), postgrestest.URL(t)
	o := options{database: database, env: []string{
		"OH_SECRET_KEY=of both", "GITHUB_APP_CLIENT_ID=Iv1.x", "GITHUB_APP_CLIENT_SECRET=app-secret", "DEFT_GIT_GITHUB_TOKEN_URL=" + hub.URL + "/login/oauth/access_token",
	}}
	one := deploy(t, `
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "case $GITHUB_TOKEN in ghu_1) echo it is renewed;; *) echo it is old;; esac"}}]}
  - reply: {text: done}
`, o)
	o.env = o.env[:4]
	two := one.again(t, o)
	store := func(token, refresh string, expires time.Time) (int, string) {
		status, said := one.owner.send(t, "POST", one.url+"/api/v1/secrets/git-providers", map[string]any{"provider_tokens": map[string]any{"github": map[string]any{
			"token": token, "host": hub.URL, "refresh_token": refresh, "expires_at": expires.Unix(),
		}}})
		return status, string(said)
	}
	if status, said := store("ghu_0", "ghr_0", time.Now().Add(time.Minute)); status != http.StatusOK {
		t.Fatalf("a token with a refresh token: %d %s", status, said)
	}
	for name, c := range map[string]map[string]any{
		"no time": {"token": "ghu_0", "host": hub.URL, "refresh_token": "r"}, "another host": {"token": "ghu_0", "host": "git.example.com", "refresh_token": "r", "expires_at": 1},
		"no token": {"host": hub.URL, "refresh_token": "r", "expires_at": 1}, "no number": {"token": "ghu_0", "host": hub.URL, "expires_at": "soon"},
	} {
		if status, said := one.owner.send(t, "POST", one.url+"/api/v1/secrets/git-providers", map[string]any{"provider_tokens": map[string]any{"github": c}}); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, status, said)
		}
	}

	var wg sync.WaitGroup
	for range 5 {
		for _, d := range []deployment{one, two} {
			wg.Go(func() {
				if status, said := d.owner.send(t, "GET", d.url+"/api/v1/git/repositories/search?provider=github", nil); status != http.StatusOK || !strings.Contains(string(said), "octocat/r") {
					t.Errorf("with a token that is renewed: %d %s", status, said)
				}
			})
		}
	}
	wg.Wait()
	if n := hub.times(); n != 1 {
		t.Errorf("the token was renewed %d times", n)
	}
	c, _ := one.begin(t, map[string]any{"title": "Look", "initial_message": text("look")})
	if got := observed(one.follow(t, c, "finished")); got != "it is renewed" {
		t.Errorf("the conversation says %q", got)
	}

	db, err := sql.Open("pgx", database)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = db.Close() }) // it was only read
	var clear int
	err = db.QueryRowContext(context.WithoutCancel(t.Context()), "SELECT count(*) FROM app_documents WHERE content LIKE '%ghr_%' OR content LIKE '%ghu_%'").Scan(&clear)
	if err != nil || clear > 0 {
		t.Errorf("%d documents have a token in the clear, %v", clear, err)
	}

	// The host refuses the refresh token, and is not asked again.
	if status, said := store("ghu_1", "ghr_void", time.Now().Add(-time.Minute)); status != http.StatusOK {
		t.Fatalf("a token that has expired: %d %s", status, said)
	}
	before := hub.times()
	for _, d := range []deployment{one, two, one} {
		status, said := d.owner.send(t, "GET", d.url+"/api/v1/git/repositories/search?provider=github", nil)
		if status != http.StatusForbidden || !strings.Contains(string(said), "sign in") {
			t.Errorf("with a token that is not renewed: %d %s", status, said)
		}
	}
	if n := hub.times() - before; n != 1 {
		t.Errorf("the host was asked %d times for what it refuses", n)
	}
	for _, d := range []deployment{one, two} {
		d.deleteAll(t)
		d.stop(t) // it has said all then
		for _, secret := range []string{"ghu_", "ghr_", "app-secret"} {
			if strings.Contains(d.said.String(), secret) {
				t.Errorf("%s is in the log: %s", secret, d.said.String())
			}
		}
	}
}
