package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/session/build"
)

// TestSecretKey looks for the key where the reference does, in its order.
func TestSecretKey(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file string
		env        []string
		want       string
	}{
		{"variable", `{"secret_key": "file"}`, []string{"OH_SECRET_KEY=own", "SESSION_API_KEY=old"}, "own"},
		{"file", `{"secret_key": "file"}`, []string{"SESSION_API_KEY=old"}, "file"},
		{"old session key", "", []string{"OH_SESSION_API_KEYS_0=new", "SESSION_API_KEY=old"}, "old"},
		{"session key", "", []string{"OH_SESSION_API_KEYS_0=new"}, "new"},
		{"blank", "", []string{"OH_SECRET_KEY=  ", "OH_SESSION_API_KEYS_0=new"}, "new"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ring, err := mustLoad(t, tt.file, config.Flags{}, tt.env...).Ring()
			must.Succeed(t, err)
			token, err := ring.Seal([]byte("x"))
			must.Succeed(t, err)
			if _, err := keyring.New(tt.want).Open(token); err != nil {
				t.Errorf("is not sealed with the key %q: %v", tt.want, err)
			}
		})
	}
}

// TestKeptKey holds that secrets survive a restart where no key is
// configured, and that configuring one later loses nothing.
func TestKeptKey(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "er")
	ring := func(env ...string) *keyring.Ring {
		r, err := mustLoad(t, "", config.Flags{}, append(env, "OH_PERSISTENCE_DIR="+dir)...).Ring()
		must.Report(t, err)
		return r
	}
	rings := make([]*keyring.Ring, 8) // servers that start at one time agree
	var wg sync.WaitGroup
	for i := range rings {
		wg.Go(func() { rings[i] = ring() })
	}
	wg.Wait()
	token, err := rings[0].Seal([]byte("value"))
	must.Succeed(t, err)
	for _, r := range append(rings, ring(), ring("OH_SECRET_KEY=later")) {
		if got, err := r.Open(token); err != nil || string(got) != "value" {
			t.Errorf("open: %q, %v", got, err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, keyring.File))
	must.Succeed(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestPreviousKeys reads them as Load does, without a file.
func TestPreviousKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		vars map[string]string
		want []string
		says string // of the error's hint
	}{
		"none":       {nil, nil, ""},
		"one by one": {map[string]string{"OH_PREVIOUS_SECRET_KEYS_0": "a", "OH_PREVIOUS_SECRET_KEYS_1": "b", "OH_PREVIOUS_SECRET_KEYS_3": "not next"}, []string{"a", "b"}, ""},
		"JSON":       {map[string]string{"OH_PREVIOUS_SECRET_KEYS": `["a", "b"]`}, []string{"a", "b"}, ""},
		"both":       {map[string]string{"OH_PREVIOUS_SECRET_KEYS": `["a", "b"]`, "OH_PREVIOUS_SECRET_KEYS_0": "c"}, []string{"c", "b"}, ""},
		"a key":      {map[string]string{"OH_PREVIOUS_SECRET_KEYS": "s3cret"}, nil, "OH_PREVIOUS_SECRET_KEYS_0"},
		"no keys":    {map[string]string{"OH_PREVIOUS_SECRET_KEYS": "[1]"}, nil, "OH_PREVIOUS_SECRET_KEYS_0"},
	} {
		got, err := config.PreviousKeys(func(n string) string { return c.vars[n] })
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if (err != nil) != (c.says != "") || err != nil && (!strings.Contains(fault.HintOf(err), c.says) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s: %v (%s)", name, err, fault.HintOf(err))
		}
	}
}

func TestDamagedKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, keyring.File), nil, 0o600))
	_, err := mustLoad(t, "", config.Flags{}, "OH_PERSISTENCE_DIR="+dir).Ring()
	if !fault.Is(err, fault.Corrupt) {
		t.Errorf("error %v, want one of damage, and no new key over the old one", err)
	}
}

func TestInitKey(t *testing.T) {
	t.Parallel()
	tests := []struct {
		env  []string
		key  string
		open bool
	}{
		{nil, "", true}, {[]string{"OH_SECRET_KEY=s"}, "s", false}, {[]string{"OH_SECRET_KEY= "}, "", false},
		{[]string{"SESSION_API_KEY=k"}, "k", false},
	}
	for _, tt := range tests {
		if key, open := mustLoad(t, "", config.Flags{}, tt.env...).InitKey(); key != tt.key || open != tt.open {
			t.Errorf("%v: InitKey() = %q, %v, want %q, %v", tt.env, key, open, tt.key, tt.open)
		}
	}
}

func TestKeyFileFlag(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys")
	must.Succeed(t, os.WriteFile(file, []byte("one\n\n two \n"), 0o600))
	l := mustLoad(t, "", config.Flags{SessionAPIKeyFile: file}, "OH_SESSION_API_KEYS_0=env")
	if d := cmp.Diff([]string{"one", "two"}, l.Keys()); d != "" {
		t.Error(d)
	}
	if l.Host != "0.0.0.0" {
		t.Errorf("listens on %s", l.Host)
	}
	if _, err := load(t, "", config.Flags{SessionAPIKeyFile: os.DevNull}); !fault.Is(err, fault.Invalid) {
		t.Errorf("an empty file: %v", err)
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	l := mustLoad(t, `{"allow_cors_origins": ["https://a.example"], "allow_cors_origin_regex": "https://.*\\.b\\.example"}`, config.Flags{Classes: build.StandardClasses().Sandboxes})
	for origin, want := range map[string]bool{
		"https://a.example": true, "https://x.b.example": true, "https://x.b.example.evil": false,
		"https://a.example.evil": false, "http://a.example": false, "": false,
	} {
		if got := l.Origin(origin); got != want {
			t.Errorf("Origin(%q) = %v, want %v", origin, got, want)
		}
	}
}

// TestNames knows the machine and the configured address from names that only
// lead here.
func TestNames(t *testing.T) {
	t.Parallel()
	l := mustLoad(t, `{"web_url": "https://agent.example/base", "allow_cors_origins": ["https://ui.example"]}`, config.Flags{Classes: build.StandardClasses().Sandboxes})
	for host, want := range map[string]bool{
		"localhost:8000": true, "127.0.0.1": true, "127.8.8.8:1": true, "[::1]:8000": true, "agent.example": true, "Agent.Example:443": true,
		"ui.example": true, "evil.example:8000": false, "127.0.0.1.evil.example": false, "localhost.evil": false, "": false,
		"10.0.0.1:8000": false, "a b": false, "[::1": false,
	} {
		if got := l.Names(host); got != want {
			t.Errorf("Names(%q) = %v, want %v", host, got, want)
		}
	}
}

// TestAllOrigins refuses to open a server without a key to all web pages.
func TestAllOrigins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  []string
		fine bool
	}{
		{[]string{`OH_ALLOW_CORS_ORIGINS=["*"]`}, false},
		{[]string{"OH_ALLOW_CORS_ORIGIN_REGEX=.*"}, false},
		{[]string{"OH_ALLOW_CORS_ORIGIN_REGEX=https?://.+"}, false},
		{[]string{`OH_ALLOW_CORS_ORIGINS=["*"]`, "OH_SESSION_API_KEYS_0=k"}, true},
		{[]string{`OH_ALLOW_CORS_ORIGINS=["https://ui.example"]`, `OH_ALLOW_CORS_ORIGIN_REGEX=https://.*\.ui\.example`}, true},
	} {
		l, err := config.Load(append(c.env, "HOME="+t.TempDir()), config.Flags{Classes: build.StandardClasses().Sandboxes})
		if (err == nil) != c.fine || err != nil && !fault.Is(err, fault.Denied) {
			t.Errorf("%v: %v", c.env, err)
		}
		if err == nil && l.Origin("null") {
			t.Errorf("%v: null may use the server", c.env)
		}
	}
	// The body of POST /api/init is checked as well.
	l, err := config.Load([]string{"HOME=" + t.TempDir(), "OH_DEFERRED_INIT=true", "OH_SECRET_KEY=s"}, config.Flags{Classes: build.StandardClasses().Sandboxes})
	must.Succeed(t, err)
	if _, err := l.With(map[string]any{"allow_cors_origins": []any{"*"}}); !fault.Is(err, fault.Denied) {
		t.Errorf("at the deferred start: %v", err)
	}
}
