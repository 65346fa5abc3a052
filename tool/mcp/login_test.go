package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/oauthtest"
	"github.com/deft-dev/deft/tool/mcp"
)

// kept are logins in memory.
type kept struct {
	mu  sync.Mutex
	all map[string]json.RawMessage
}

func (k *kept) Login(_ context.Context, key string) (json.RawMessage, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all[key], nil
}

func (k *kept) ChangeLogin(_ context.Context, key string, change func(json.RawMessage) (json.RawMessage, error)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	next, err := change(k.all[key])
	if err == nil {
		k.all[key] = next
	}
	return err
}

func (k *kept) only(t *testing.T) json.RawMessage {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.all) != 1 {
		t.Fatalf("logins: %v", k.all)
	}
	for _, raw := range k.all {
		return raw
	}
	return nil
}

// overSessions serves a server whose sessions end with the test.
func overSessions(t *testing.T) http.Handler {
	server := newServer()
	t.Cleanup(func() {
		for s := range server.Sessions() {
			s.Close()
		}
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
}

const redirect = "http://127.0.0.1:9/callback" // the browser is the test

func withLogins(t *testing.T) (*oauthtest.Server, *kept) {
	t.Helper()
	return oauthtest.Start(t, overSessions(t)), &kept{all: map[string]json.RawMessage{}}
}

// logIn logs in; the browser is the test.
func logIn(t *testing.T, as *oauthtest.Server, s mcp.Server, logins mcp.Logins, change func(url.Values)) (json.RawMessage, error) {
	t.Helper()
	return mcp.LogIn(t.Context(), s, mcp.LoginOptions{Redirect: redirect, Logins: logins, Visit: func(_ context.Context, address string) (url.Values, error) {
		query := as.Redirect(t, address).Query()
		if change != nil {
			change(query)
		}
		return query, nil
	}})
}

// TestLogin logs in and uses the server: with and without a client's secret. Access tokens that
// end, by the clock or at the server, are renewed, side by side too, and a new session has the
// renewed login. Once it is revoked, the error says what to do. No text has a token.
func TestLogin(t *testing.T) {
	t.Parallel()
	for _, secrets := range []bool{false, true} {
		t.Run(fmt.Sprint("secrets ", secrets), func(t *testing.T) {
			t.Parallel()
			as, logins := withLogins(t)
			as.Secrets = secrets
			config := mcp.Server{URL: as.URL, Transport: mcp.HTTP}
			without, warnings := mcp.Connect(t.Context(), map[string]mcp.Server{"web": config}, mcp.Options{Logins: logins})
			without.Close()
			if len(warnings) != 1 || !fault.Is(warnings[0].Err, fault.Auth) || !strings.Contains(warnings[0].Error(), "deft mcp login web") {
				t.Fatalf("without a login: %v", warnings)
			}
			as.Lasts = time.Second // within the margin: it is renewed before its first use
			if _, err := logIn(t, as, config, logins, nil); err != nil {
				t.Fatal(err)
			}
			as.Lasts = 0
			var tracked []string
			o := mcp.Options{Logins: logins, Track: func(values ...string) { tracked = append(tracked, values...) }}
			set := connect(t, map[string]mcp.Server{"web": config}, o)
			say := func() {
				t.Helper()
				if got := ask(t, set, "echo", `{"text":"hi"}`); got.IsError || got.Content[1].Text != "hi" {
					t.Fatalf("echo: %s", event.JoinText(got.Content))
				}
			}
			say()
			if as.Renewed() != 1 || len(tracked) < 4 || !strings.HasPrefix(tracked[0], "access-") {
				t.Errorf("renewed %d times, tracked %d values", as.Renewed(), len(tracked))
			}
			as.Expire()
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() {
					if got := set.Call(t.Context(), "echo", raw(textArgs{"hi"})); got.IsError {
						t.Errorf("echo side by side: %s", event.JoinText(got.Content))
					}
				})
			}
			all.Wait()
			if as.Renewed() != 2 {
				t.Errorf("renewed %d times for ten calls", as.Renewed())
			}
			set.Close()
			as.Expire()
			set = connect(t, map[string]mcp.Server{"web": config}, o)
			say()
			as.Revoke()
			got := event.JoinText(set.Call(t.Context(), "echo", raw(textArgs{"x"})).Content)
			if !strings.Contains(got, "wants a login") {
				t.Errorf("after it was revoked: %s", got)
			}
			for _, value := range tracked {
				if value != "" && strings.Contains(got, value) {
					t.Errorf("a secret is shown: %s", got)
				}
			}
			var state struct {
				Tokens map[string]string `json:"tokens"`
				Client map[string]string `json:"client_info"`
			}
			must.Succeed(t, json.Unmarshal(logins.only(t), &state))
			if state.Tokens["refresh_token"] == "" || state.Client["resource"] != as.URL || (state.Client["client_secret"] != "") != secrets {
				t.Errorf("kept: %+v", state)
			}
		})
	}
}

// TestLogOut removes logins, and has them revoked where the authorization server can do so. A
// login is removed also if the server fails.
func TestLogOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		revokes, secrets, fails bool
	}{
		"revoked":               {revokes: true},
		"revoked with a secret": {revokes: true, secrets: true},
		"cannot be revoked":     {},
		"the server fails":      {revokes: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := oauthtest.Start(&failures{TB: t, allowed: c.fails}, overSessions(t))
			as.Revokes, as.Secrets = c.revokes, c.secrets
			logins, config := &kept{all: map[string]json.RawMessage{}}, mcp.Server{URL: as.URL}
			if _, err := mcp.LogOut(t.Context(), config, logins); !fault.Is(err, fault.NotFound) {
				t.Errorf("without a login: %v", err)
			}
			state, err := logIn(t, as, config, logins, nil)
			must.Succeed(t, err)
			if c.fails {
				as.Revoke() // the test's server refuses to revoke twice
			}
			revoked, err := mcp.LogOut(t.Context(), config, logins)
			if (err != nil) != c.fails || revoked != (c.revokes && !c.fails) || as.Valid() != !c.revokes {
				t.Errorf("revoked %t, error %v, valid at the server %t", revoked, err, as.Valid())
			}
			if err != nil && (!strings.Contains(err.Error(), "removed here, but not revoked") || strings.Contains(err.Error(), "refresh-")) {
				t.Error(err)
			}
			if left := logins.all[as.URL]; left != nil {
				t.Errorf("kept: %s of %s", left, state)
			}
		})
	}
}

// TestSeededLogin has a login of another program in the configuration, which lacks the token
// endpoint: it is renewed in a place of its own, for all conversations with it.
func TestSeededLogin(t *testing.T) {
	t.Parallel()
	as, logins := withLogins(t)
	raw, err := logIn(t, as, mcp.Server{URL: as.URL}, nil, nil)
	must.Succeed(t, err)
	var state map[string]map[string]any
	var whole map[string]json.RawMessage
	must.Succeed(t, json.Unmarshal(raw, &whole))
	delete(whole, "token_expires_at")
	delete(whole, "origin")
	raw, err = json.Marshal(whole)
	must.Succeed(t, err)
	must.Succeed(t, json.Unmarshal(raw, &state))
	delete(state["client_info"], "token_endpoint")
	delete(state["client_info"], "resource")
	raw, err = json.Marshal(state)
	must.Succeed(t, err)
	config := mcp.Server{URL: as.URL, Auth: &mcp.Auth{Strategy: mcp.AuthOAuth2, State: raw}}
	as.Expire()
	for range 2 { // the second one has a refresh token in its configuration that was used
		set := connect(t, map[string]mcp.Server{"web": config}, mcp.Options{Logins: logins})
		if got := ask(t, set, "echo", `{"text":"hi"}`); got.IsError {
			t.Errorf("echo: %s", event.JoinText(got.Content))
		}
	}
	if as.Renewed() != 1 {
		t.Errorf("renewed %d times", as.Renewed())
	}
	logins.only(t)
}

// TestRefusedLogins are logins that must not succeed.
func TestRefusedLogins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(url.Values)
		refuse string
		want   string
	}{
		"another state":  {func(q url.Values) { q.Set("state", "forged") }, "", "state mismatch"},
		"another issuer": {func(q url.Values) { q.Set("iss", "https://evil.example") }, "", "issuer"},
		"no code":        {func(q url.Values) { q.Del("code") }, "", "no code"},
		"another code":   {func(q url.Values) { q.Set("code", "x") }, "", "invalid_grant"},
		"a person's no":  {nil, "access_denied", "the login was refused: access_denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quiet := &failures{TB: t, allowed: name == "another code"}
			as := oauthtest.Start(quiet, overSessions(t))
			as.Refuse = c.refuse
			logins := &kept{all: map[string]json.RawMessage{}}
			if _, err := logIn(t, as, mcp.Server{URL: as.URL}, logins, c.change); err == nil || !strings.Contains(err.Error(), c.want) || len(logins.all) > 0 {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

// failures is a test in which the authorization server may see a wrong request.
type failures struct {
	testing.TB
	allowed bool
}

// Errorf implements [testing.TB].
func (f *failures) Errorf(format string, args ...any) {
	if !f.allowed {
		f.TB.Errorf(format, args...)
	}
}

// TestNoLogin: a server that wants none, one that is not there, and a client that authenticates
// itself in a way that Deft cannot.
func TestNoLogin(t *testing.T) {
	t.Parallel()
	as, _ := withLogins(t)
	open, _ := overHTTP(t, newServer())
	if _, err := logIn(t, as, open, nil, nil); !errors.Is(err, mcp.ErrNoLogin) {
		t.Errorf("an open server: %v", err)
	}
	if _, err := logIn(t, as, mcp.Server{URL: "http://127.0.0.1:1/mcp"}, nil, nil); !fault.Is(err, fault.Unavailable) {
		t.Errorf("no server: %v", err)
	}
	jwt := mcp.Server{URL: as.URL, Auth: &mcp.Auth{Strategy: mcp.AuthOAuth2, Authentication: json.RawMessage(`{"type":"oauth","client_auth_method":"private_key_jwt"}`)}}
	if _, err := logIn(t, as, jwt, nil, nil); !fault.Is(err, fault.Unsupported) {
		t.Errorf("private_key_jwt: %v", err)
	}
}

// TestLoginElsewhere has a server whose metadata name an authorization server that a redirect
// moves to another origin: that one is not asked.
func TestLoginElsewhere(t *testing.T) {
	t.Parallel()
	other, asked := otherOrigin(t)
	mux := http.NewServeMux()
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	mux.HandleFunc("/.well-known/", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other+r.URL.Path, http.StatusFound) })
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other+"/register", http.StatusTemporaryRedirect)
	})
	as, _ := withLogins(t)
	if _, err := logIn(t, as, mcp.Server{URL: h.URL + "/mcp"}, nil, nil); err == nil {
		t.Error("the login succeeds")
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the other origin was asked %d times", n)
	}
}
