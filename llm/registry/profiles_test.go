package registry_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/filelock/filelocktest"
	"github.com/deft-dev/deft/llm/registry"
)

func profiles(t *testing.T) (*registry.Profiles, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deft", "profiles")
	s, err := registry.OpenProfiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func TestProfilesRoundTrip(t *testing.T) {
	t.Parallel()
	s, dir := profiles(t)
	half, one := 0.5, 1.0
	want := registry.Profile{
		SchemaVersion: 1, Model: "openai/gpt-5", BaseURL: "http://localhost:1/v1", APIKeyEnv: "MY_KEY", ReasoningEffort: "high",
		MaxOutputTokens: 100, Temperature: &half, TopP: &one, Timeout: 1, FirstTokenTimeout: 2, StreamIdleTimeout: 3, ConnectTimeout: 4,
		NumRetries: 2, RetryMultiplier: 1.5, RetryMinWait: 1, RetryMaxWait: 9, ContextWindow: 5, InputPrice: &half, OutputPrice: &one,
		Fallback: []string{"b", "c"}, Vision: "v", TextLimit: 7,
	}
	if err := s.Put(t.Context(), "a.B-c_1", want); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get("a.B-c_1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	st, err := os.Stat(filepath.Join(dir, "a.B-c_1.json"))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if names, err := s.Names(); err != nil || !cmp.Equal(names, []string{"a.B-c_1"}) {
		t.Errorf("names %v, %v", names, err)
	}
	if err := s.Delete(t.Context(), "a.B-c_1"); err != nil {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), "a.B-c_1"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("deleted twice: %v", err)
	}
	if _, err := s.Get("a.B-c_1"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("after deletion: %v", err)
	}
}

func TestProfileNames(t *testing.T) {
	t.Parallel()
	s, _ := profiles(t)
	for _, name := range []string{"", ".x", "-x", "_x", "a/b", "../a", "a b", "a\n", "é", strings.Repeat("a", 65)} {
		p := registry.Profile{Model: "m"}
		_, gerr := s.Get(name)
		for _, err := range []error{s.Put(t.Context(), name, p), s.Delete(t.Context(), name), gerr} {
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	if err := s.Put(t.Context(), strings.Repeat("a", 64), registry.Profile{Model: "m"}); err != nil {
		t.Error(err)
	}
}

func TestInvalidProfiles(t *testing.T) {
	t.Parallel()
	s, _ := profiles(t)
	price, negative := 1.0, -1.0
	for name, p := range map[string]registry.Profile{
		"no model":        {},
		"a key as a name": {Model: "m", APIKeyEnv: "sk-0123456-secret"},
		"two keys":        {Model: "m", APIKeyEnv: "K", APIKeyFile: "/k"},
		"password":        {Model: "m", BaseURL: "http://u:p@h/v1"},
		"key in the URL":  {Model: "m", BaseURL: "http://h/v1?key=secret"},
		"effort":          {Model: "m", ReasoningEffort: "huge"},
		"one price":       {Model: "m", InputPrice: &price},
		"negative price":  {Model: "m", InputPrice: &price, OutputPrice: &negative},
		"negative time":   {Model: "m", Timeout: -1},
		"long time":       {Model: "m", RetryMaxWait: 1e9},
		"api":             {Model: "m", API: "grpc"},
		"retention":       {Model: "m", CacheRetention: "1h"},
		"context limit":   {Model: "m", ContextLimit: -1},
		"keep-alive":      {Model: "m", KeepAlive: -1e9},
		"fallback":        {Model: "m", Fallback: []string{"../x"}},
		"vision":          {Model: "m", Vision: "../x"},
		"negative limit":  {Model: "m", TextLimit: -1},
	} {
		err := s.Put(t.Context(), "x", p)
		if fault.KindOf(err) != fault.Invalid || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if names, err := s.Names(); err != nil || len(names) != 0 {
		t.Errorf("stored %v, %v", names, err)
	}
}

func TestInvalidFiles(t *testing.T) {
	t.Parallel()
	s, dir := profiles(t)
	for text, want := range map[string]fault.Kind{
		"":                                  fault.Invalid,
		"[]":                                fault.Invalid,
		`{"schema_version":2,"model":"m"}`:  fault.Unsupported,
		`{"model":"m"}`:                     fault.Unsupported,
		`{"schema_version":1,"modell":"m"}`: fault.Invalid,
		`{"schema_version":1}`:              fault.Invalid,
		`{"schema_version":1,"model":"m","api_key":"sk-plain"}`:                             fault.Invalid,
		`{"schema_version":1,"model":"m","base_url":"` + strings.Repeat("x", 70_000) + `"}`: fault.Invalid,
	} {
		if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get("x"); fault.KindOf(err) != want || strings.Contains(err.Error(), "sk-plain") {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}

// TestFiftyProfiles checks that concurrent writers cannot exceed the limit.
func TestFiftyProfiles(t *testing.T) {
	t.Parallel()
	s, dir := profiles(t)
	var refused atomic.Int32
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			err := s.Put(t.Context(), fmt.Sprint("p", i), registry.Profile{Model: "m"})
			switch {
			case fault.KindOf(err) == fault.Limit:
				refused.Add(1)
			case err != nil:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	names, err := s.Names()
	if err != nil || len(names) != 50 || refused.Load() != 10 {
		t.Fatalf("%d profiles, %d refused, %v", len(names), refused.Load(), err)
	}
	if err := s.Put(t.Context(), names[0], registry.Profile{Model: "other"}); err != nil {
		t.Errorf("changing one of fifty: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".new-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestLockedProfiles checks that a writer waits for the lock of another process
// in the kernel, without polling, until it gets it or its context ends.
func TestLockedProfiles(t *testing.T) {
	t.Parallel()
	s, dir := profiles(t)
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Delete(ctx, "a"); !fault.Is(err, fault.Canceled) || !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if err := s.Put(late, "a", registry.Profile{Model: "m"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("past the deadline: %v", err)
	}
	written := make(chan error)
	go func() { written <- s.Put(t.Context(), "a", registry.Profile{Model: "m"}) }()
	filelocktest.AwaitBlocked(t, f.Name())
	if names, err := s.Names(); err != nil || len(names) != 0 {
		t.Errorf("while another process writes: %v, %v", names, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func TestDir(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ xdg, home, want string }{
		{"/x", "/h", "/x/deft/profiles"}, {"rel", "/h", "/h/.config/deft/profiles"}, {"", "", ""},
	} {
		env := map[string]string{"XDG_CONFIG_HOME": tt.xdg, "HOME": tt.home}
		if got := registry.Dir(func(k string) string { return env[k] }); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
	if _, err := registry.OpenProfiles(""); fault.KindOf(err) != fault.Invalid {
		t.Errorf("no directory: %v", err)
	}
}

func FuzzProfile(f *testing.F) {
	f.Add([]byte(`{"schema_version":1,"model":"m","timeout":3,"fallback":["a"]}`))
	f.Add([]byte(`{"schema_version":1,"model":"m","input_price":1e999}`))
	dir := f.TempDir()
	s, err := registry.OpenProfiles(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if err := os.WriteFile(filepath.Join(dir, "in.json"), in, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := s.Get("in")
		if err != nil {
			return
		}
		if err := s.Put(context.Background(), "out", p); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if again, err := s.Get("out"); err != nil || !cmp.Equal(p, again, cmpopts.EquateEmpty()) {
			t.Fatalf("%v: %s", err, cmp.Diff(p, again))
		}
	})
}
