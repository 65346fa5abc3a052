// Package oauthtest is an authorization server with an MCP server behind it, for tests. It checks
// everything that the protocol's authorization chapter wants of clients: registration, PKCE, state,
// resource, redirect addresses, the rotation of refresh tokens.
//
// # Usage
//
//	s := oauthtest.Start(t, mcpHandler)
//	// log in at s.URL; s.Redirect is the browser
//
// # Concurrency and failure
//
// A Server is safe for concurrent use. A request that no good client sends fails the test.
package oauthtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is the two servers, on one origin.
type Server struct {
	// URL is the MCP server's.
	URL string
	// Lasts is how long access tokens last; an hour if it is 0. Change it before a login.
	Lasts time.Duration
	// Secrets gives clients that register themselves a secret, and wants it.
	Secrets bool
	// Revokes says whether logins can be revoked.
	Revokes bool
	// Refuse is the error of the login page; "" for none.
	Refuse string

	t    testing.TB
	base string
	mcp  http.Handler

	mu      sync.Mutex
	clients map[string]client
	codes   map[string]code
	access  map[string]bool // valid access tokens
	refresh map[string]string
	renewed int
}

type client struct {
	secret    string
	redirects []string
}

type code struct{ client, redirect, challenge string }

// Start starts the servers. mcp answers requests that have a valid access token.
func Start(t testing.TB, mcp http.Handler) *Server {
	s := &Server{t: t, mcp: mcp, clients: map[string]client{}, codes: map[string]code{}, access: map[string]bool{}, refresh: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", s.resource)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server/as", s.metadata)
	mux.HandleFunc("POST /as/register", s.register)
	mux.HandleFunc("GET /as/authorize", s.authorize)
	mux.HandleFunc("POST /as/token", s.token)
	mux.HandleFunc("POST /as/revoke", s.revoke)
	mux.HandleFunc("/mcp", s.guarded)
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	s.base, s.URL = h.URL, h.URL+"/mcp"
	return s
}

func (s *Server) resource(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{"resource": s.URL, "authorization_servers": []string{s.base + "/as"}, "scopes_supported": []string{"read", "write"}})
}

func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	at := s.base + "/as"
	answer := map[string]any{
		"issuer": at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token", "registration_endpoint": at + "/register",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"authorization_response_iss_parameter_supported": true,
	}
	if s.Revokes {
		answer["revocation_endpoint"] = at + "/revoke"
	}
	reply(w, http.StatusOK, answer)
}

// revoke ends a login by its refresh token (RFC 7009).
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	s.mu.Lock()
	c, known := s.clients[id]
	given := s.refresh[r.PostFormValue("token")]
	s.mu.Unlock()
	if !known || c.secret != secret || given != id || r.PostFormValue("token_type_hint") != "refresh_token" {
		s.t.Errorf("a request to revoke: %v", r.PostForm)
		reply(w, http.StatusBadRequest, map[string]string{"error": "invalid_request"})
		return
	}
	s.Revoke()
	w.WriteHeader(http.StatusOK)
}

// Valid reports whether an access token or a refresh token is valid.
func (s *Server) Valid() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.access)+len(s.refresh) > 0
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var got struct {
		Redirects []string `json:"redirect_uris"`
		Method    string   `json:"token_endpoint_auth_method"`
		Grants    []string `json:"grant_types"`
		Name      string   `json:"client_name"`
	}
	if err := json.NewDecoder(r.Body).Decode(&got); err != nil || len(got.Redirects) != 1 || got.Name == "" || !slices.Contains(got.Grants, "refresh_token") {
		s.t.Errorf("registration %+v, %v", got, err)
	}
	if s.Secrets && got.Method == "none" {
		reply(w, http.StatusBadRequest, map[string]string{"error": "invalid_client_metadata"})
		return
	}
	c, id := client{redirects: got.Redirects}, "client-"+rand.Text()
	answer := map[string]any{"client_id": id, "redirect_uris": got.Redirects, "token_endpoint_auth_method": got.Method}
	if s.Secrets {
		c.secret = "secret-" + rand.Text()
		answer["client_secret"] = c.secret
	}
	s.mu.Lock()
	s.clients[id] = c
	s.mu.Unlock()
	reply(w, http.StatusCreated, answer)
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	c, known := s.clients[q.Get("client_id")]
	if !known || !slices.Contains(c.redirects, q.Get("redirect_uri")) || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || len(q.Get("state")) < 20 || q.Get("resource") != s.URL {
		s.t.Errorf("a request for a code: %v", q)
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	back, _ := url.Parse(q.Get("redirect_uri")) // registered above
	answer := url.Values{"state": {q.Get("state")}, "iss": {s.base + "/as"}}
	if s.Refuse != "" {
		answer.Set("error", s.Refuse)
	} else {
		value := "code-" + rand.Text()
		s.codes[value] = code{q.Get("client_id"), q.Get("redirect_uri"), q.Get("code_challenge")}
		answer.Set("code", value)
	}
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	c, known := s.clients[id]
	if !known || c.secret != secret || r.PostFormValue("resource") != s.URL {
		s.t.Errorf("a request for a token of client %q: %v", id, r.PostForm)
		reply(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		value := r.PostFormValue("code")
		given := s.codes[value]
		delete(s.codes, value)
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if given.client != id || given.redirect != r.PostFormValue("redirect_uri") || given.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			s.t.Errorf("a code: %v for %+v", r.PostForm, given)
			reply(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
			return
		}
	case "refresh_token":
		value := r.PostFormValue("refresh_token")
		if s.refresh[value] != id { // it was used before, or revoked
			reply(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
			return
		}
		delete(s.refresh, value)
		s.renewed++
	default:
		s.t.Errorf("a grant: %v", r.PostForm)
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	s.access[access], s.refresh[refresh] = true, id
	lasts := s.Lasts
	if lasts == 0 {
		lasts = time.Hour
	}
	reply(w, http.StatusOK, map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "bearer", "expires_in": int(lasts.Seconds()), "scope": "read write"})
}

func (s *Server) guarded(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	valid := s.access[token]
	s.mu.Unlock()
	if !valid {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, s.base))
		http.Error(w, "log in", http.StatusUnauthorized)
		return
	}
	s.mcp.ServeHTTP(w, r)
}

// Expire makes all access tokens invalid.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
}

// Revoke makes all tokens invalid.
func (s *Server) Revoke() {
	s.Expire()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.refresh)
}

// Renewed is how often access tokens were renewed.
func (s *Server) Renewed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewed
}

// Redirect returns where the login page at an address sends the browser of a person who logs in.
func (s *Server) Redirect(t testing.TB, address string) *url.URL {
	t.Helper()
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		t.Fatalf("the login page answers %s: %v", resp.Status, err)
	}
	return to
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}
