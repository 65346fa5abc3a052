// Package oidctest is an OpenID Connect provider for tests. It checks what the protocol wants of
// clients: PKCE, the redirect address, one use of a code, the client's secret.
//
// # Usage
//
//	p := oidctest.Start(t)
//	provider := oidc.New(oidc.Options{Issuer: p.URL, ClientID: oidctest.ClientID, Secret: oidctest.Secret})
//	answer := p.SignIn(t, address, oidctest.Claims{"sub": "ann"})  // the person, at the provider's page
//
// # Concurrency and failure
//
// A Provider is safe for concurrent use. A request that no good client sends is refused as
// providers do.
package oidctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The client that is registered.
const (
	ClientID = "deft"
	Secret   = "the client's secret"
)

// Claims are the claims of a token.
type Claims map[string]any

// Provider is the server.
type Provider struct {
	URL string
	// Change changes the claims of ID tokens before they are signed; nil for not.
	Change func(Claims)
	// Forge makes an ID token of the claims in place of the provider's key; nil for not.
	Forge func(Claims) string
	// NamesItself has answers carry the issuer (RFC 9207).
	NamesItself bool

	mu    sync.Mutex
	key   jose.JSONWebKey
	keys  []jose.JSONWebKey // that are published
	codes map[string]code
	away  bool
}

type code struct {
	challenge, redirect, nonce string
	claims                     Claims
}

// Start starts a provider that ends with the test.
func Start(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{codes: map[string]code{}}
	p.Rotate(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.describe)
	mux.HandleFunc("GET /keys", p.publish)
	mux.HandleFunc("POST /token", p.token)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		away := p.away
		p.mu.Unlock()
		if away {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	p.URL = s.URL
	return p
}

// Away has the provider answer nothing but 503, or not.
func (p *Provider) Away(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

// Rotate has the provider sign with a new key; the one before is not published any more.
func (p *Provider) Rotate(t testing.TB) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key = jose.JSONWebKey{Key: private, KeyID: rand.Text(), Algorithm: string(jose.ES256), Use: "sig"}
	p.keys = []jose.JSONWebKey{p.key.Public()}
}

func (p *Provider) describe(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"id_token_signing_alg_values_supported":          []string{"ES256", "HS256", "none"},
		"authorization_response_iss_parameter_supported": p.NamesItself,
	})
}

func (p *Provider) publish(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer(w, http.StatusOK, jose.JSONWebKeySet{Keys: p.keys})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return // the client has left
	}
}

// SignIn is a person who signs in at the page with an address, and returns the address to which
// the browser is sent back. The claims are the person's.
func (p *Provider) SignIn(t testing.TB, address string, claims Claims) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if u.Scheme+"://"+u.Host != p.URL || q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("state") == "" || q.Get("nonce") == "" {
		t.Fatalf("no good client asks so: %s", address)
	}
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		t.Fatal(err)
	}
	name := rand.Text()
	p.mu.Lock()
	p.codes[name] = code{q.Get("code_challenge"), q.Get("redirect_uri"), q.Get("nonce"), claims}
	p.mu.Unlock()
	answer := url.Values{"code": {name}, "state": {q.Get("state")}}
	if p.NamesItself {
		answer.Set("iss", p.URL)
	}
	back.RawQuery = answer.Encode()
	return back
}

// token changes a code for tokens.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	refuse := func(why string) { answer(w, http.StatusBadRequest, map[string]string{"error": why}) }
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	} else if plain, err := url.QueryUnescape(secret); err == nil {
		secret = plain
	}
	if id != ClientID || secret != Secret {
		refuse("invalid_client")
		return
	}
	p.mu.Lock()
	c, ok := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || r.PostFormValue("grant_type") != "authorization_code" || r.PostFormValue("redirect_uri") != c.redirect || base64.RawURLEncoding.EncodeToString(sum[:]) != c.challenge {
		refuse("invalid_grant")
		return
	}
	claims := Claims{"iss": p.URL, "aud": ClientID, "nonce": c.nonce, "exp": time.Now().Add(time.Minute).Unix(), "iat": time.Now().Unix()}
	maps.Copy(claims, c.claims)
	if p.Change != nil {
		p.Change(claims)
	}
	token, err := "", error(nil)
	if p.Forge != nil {
		token = p.Forge(claims)
	} else if token, err = p.sign(claims); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, http.StatusOK, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 60, "id_token": token})
}

// sign signs claims with the provider's key.
func (p *Provider) sign(claims Claims) (string, error) {
	p.mu.Lock()
	key := p.key
	p.mu.Unlock()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed, err := s.Sign(raw)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// Ended returns the message that sessions have ended, with the claims of which there is one (sub, sid).
func (p *Provider) Ended(t testing.TB, claims Claims) string {
	t.Helper()
	all := Claims{
		"iss": p.URL, "aud": ClientID, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(), "jti": strconv.FormatInt(time.Now().UnixNano(), 36),
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	}
	maps.Copy(all, claims)
	token, err := p.sign(all)
	if err != nil {
		t.Fatal(err)
	}
	return token
}
