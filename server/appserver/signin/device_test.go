package signin_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/appserver/signin"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// program waits for its key.
type program struct {
	t       *testing.T
	h       http.Handler
	signin  *signin.Service
	cookie  *http.Cookie
	address string
}

type answer struct {
	DeviceCode  string `json:"device_code"`
	UserCode    string `json:"user_code"`
	Page        string `json:"verification_uri"`
	Complete    string `json:"verification_uri_complete"`
	Expires     int    `json:"expires_in"`
	Interval    int    `json:"interval"`
	Error       string `json:"error"`
	AccessToken string `json:"access_token"`
}

// openStore opens an empty store, which ends with the test.
func openStore(t *testing.T) *store.Store {
	t.Helper()
	source, err := store.SQLiteSource(filepath.Join(t.TempDir(), "app.db"))
	must.Succeed(t, err)
	db, err := sql.Open("sqlite", source)
	must.Succeed(t, err)
	kept, err := store.Open(t.Context(), db, store.SQLite, keyring.New("master"))
	must.Succeed(t, err)
	t.Cleanup(func() { must.Succeed(t, kept.Close()) })
	return kept
}

// begin opens the service inside a bubble of synctest, with a person who is signed in.
func begin(t *testing.T) *program {
	t.Helper()
	kept := openStore(t)
	p := &program{t: t, address: "192.0.2.1"}
	p.signin = signin.New(signin.Options{
		Store: kept, Secure: func(*http.Request) bool { return false }, Log: slog.New(slog.DiscardHandler),
		Peer: func(*http.Request) netip.Addr { return netip.MustParseAddr(p.address) },
		Base: func(*http.Request) string { return "https://deft.example.org" },
	})
	var err error
	p.h, err = rest.New(rest.Options{Routes: p.signin.Routes(), Authenticate: p.signin.Authenticate})
	must.Succeed(t, err)
	code, err := p.signin.NewCode(t.Context(), identity.LocalTenant)
	must.Succeed(t, err)
	got := p.send("/api/v1/login", `{"code":"`+code+`"}`, nil)
	if p.cookie = got.Result().Cookies()[0]; got.Code != http.StatusNoContent {
		t.Fatalf("sign in: %d", got.Code)
	}
	return p
}

func (p *program) send(path, body string, cookie *http.Cookie) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.WithoutCancel(p.t.Context()), http.MethodPost, "https://deft.example.org"+path, strings.NewReader(body))
	r.Header.Set("User-Agent", "program/1")
	if cookie != nil {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	p.h.ServeHTTP(w, r)
	return w
}

// ask sends a request that must be answered with a status.
func (p *program) ask(status int, path string, form url.Values, cookie *http.Cookie) (out answer) {
	p.t.Helper()
	w := p.send(path, form.Encode(), cookie)
	if w.Code != status {
		p.t.Fatalf("%s: %d, want %d: %s", path, w.Code, status, w.Body)
	}
	must.Succeed(p.t, json.Unmarshal(w.Body.Bytes(), &out))
	return out
}

func (p *program) begin(status int) answer {
	p.t.Helper()
	return p.ask(status, "/oauth/device/authorize", nil, nil)
}

// poll asks for the key, which is refused with an error, unless that is "".
func (p *program) poll(code, want string) answer {
	p.t.Helper()
	status := http.StatusBadRequest
	if want == "" {
		status = http.StatusOK
	}
	got := p.ask(status, "/oauth/device/token", url.Values{"device_code": {code}, "grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}}, nil)
	if got.Error != want {
		p.t.Fatalf("the answer is %q, want %q", got.Error, want)
	}
	return got
}

func (p *program) allow(status int, code string) {
	p.t.Helper()
	p.ask(status, "/oauth/device/verify-authenticated", url.Values{"user_code": {code}}, p.cookie)
}

// caller is who sends a request with a key.
func (p *program) caller(key string) (identity.Caller, error) {
	r := httptest.NewRequestWithContext(p.t.Context(), http.MethodGet, "https://deft.example.org/", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	return p.signin.Authenticate(r)
}

func TestDevice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := begin(t)
		d := p.begin(http.StatusOK)
		if !regexp.MustCompile(`^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$`).MatchString(d.UserCode) ||
			d.Complete != "https://deft.example.org/device?user_code="+d.UserCode || d.Page != "https://deft.example.org/device" || d.Expires != 600 || d.Interval != 5 {
			t.Errorf("the program is told %+v", d)
		}
		p.poll(d.DeviceCode, "authorization_pending")
		p.poll(d.DeviceCode, "slow_down")
		time.Sleep(3 * time.Second)
		p.poll(d.DeviceCode, "slow_down") // which counts anew
		time.Sleep(5 * time.Second)
		p.poll(d.DeviceCode, "authorization_pending")
		p.poll(d.UserCode, "expired_token") // what people see is no key to anything
		if w := p.send("/oauth/device/verify-authenticated", "user_code="+d.UserCode, nil); w.Code != http.StatusUnauthorized {
			t.Errorf("somebody who is not signed in: %d %s", w.Code, w.Body)
		}
		if _, err := p.caller(d.DeviceCode); err == nil {
			t.Error("a code of a program is taken for a key")
		}
		p.allow(http.StatusBadRequest, "BCDF-GHJK")
		p.allow(http.StatusOK, strings.ToLower(strings.ReplaceAll(d.UserCode, "-", " "))) // as people type
		p.allow(http.StatusBadRequest, d.UserCode)                                        // once
		p.poll(d.DeviceCode, "slow_down")
		time.Sleep(5 * time.Second)
		key := p.poll(d.DeviceCode, "").AccessToken
		if who, err := p.caller(key); err != nil || who.Tenant() != identity.LocalTenant || who.Method != identity.APIKey {
			t.Errorf("the key belongs to %+v, %v", who, err)
		}
		keys, err := p.signin.Keys(t.Context(), identity.LocalTenant)
		if err != nil || len(keys) != 1 || keys[0].Name != "device: program/1" || time.Until(keys[0].Expires) != 30*24*time.Hour {
			t.Errorf("the keys are %+v, %v", keys, err)
		}
		time.Sleep(5 * time.Second)
		p.poll(d.DeviceCode, "expired_token") // single use
	})
}

// TestDeviceExpires: after ten minutes nobody can allow the program, and one that was allowed
// gets no key.
func TestDeviceExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := begin(t)
		late, allowed := p.begin(http.StatusOK), p.begin(http.StatusOK)
		p.allow(http.StatusOK, allowed.UserCode)
		time.Sleep(10 * time.Minute)
		p.allow(http.StatusBadRequest, late.UserCode)
		p.poll(late.DeviceCode, "expired_token")
		p.poll(allowed.DeviceCode, "expired_token")
	})
}

// TestDeviceLimits: an address begins 20 times at once, and asks 60 times; a person tries 20
// codes.
func TestDeviceLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := begin(t)
		for range 19 { // the sign-in of the person counted
			p.begin(http.StatusOK)
		}
		p.begin(http.StatusTooManyRequests)
		p.address = "192.0.2.2"
		d := p.begin(http.StatusOK)
		for range 60 {
			p.poll("guess", "expired_token")
		}
		form := url.Values{"device_code": {d.DeviceCode}}
		if got := p.ask(http.StatusTooManyRequests, "/oauth/device/token", form, nil); got.Error != "slow_down" {
			t.Errorf("a program that asks too often is told %+v", got)
		}
		for range 20 {
			p.allow(http.StatusBadRequest, "BCDF-GHJK")
		}
		p.allow(http.StatusTooManyRequests, d.UserCode)
		p.address = "192.0.2.3"
		p.ask(http.StatusUnprocessableEntity, "/oauth/device/token", nil, nil)
		p.ask(http.StatusBadRequest, "/oauth/device/token", url.Values{"device_code": {"x"}, "grant_type": {"password"}}, nil)
		p.poll(d.DeviceCode, "authorization_pending")
	})
}

// TestDeviceOtherOrigin: a page of another origin has nobody allow a program.
func TestDeviceOtherOrigin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := begin(t)
		d := p.begin(http.StatusOK)
		for _, header := range [][2]string{{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://deft.example.org/oauth/device/verify-authenticated", strings.NewReader("user_code="+d.UserCode))
			r.AddCookie(p.cookie)
			r.Header.Set(header[0], header[1])
			w := httptest.NewRecorder()
			if p.h.ServeHTTP(w, r); w.Code != http.StatusForbidden {
				t.Errorf("%s: %s: %d %s", header[0], header[1], w.Code, w.Body)
			}
		}
		p.poll(d.DeviceCode, "authorization_pending")
	})
}
