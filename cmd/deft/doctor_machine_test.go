package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestMachine(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "go/pkg/mod"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home, "https_proxy": "http://user:hidden@proxy.test:3128", "HTTP_PROXY": "user:hidden@proxy.test:1", "no_proxy": "localhost"}
	m := lookAround(filepath.Join(home, "not", "there"), func(name string) string { return env[name] })
	if m.FreeBytes <= 0 {
		t.Errorf("free space %d", m.FreeBytes)
	}
	if want := []string{filepath.Join(home, "go/pkg/mod")}; !slices.Equal(m.Caches, want) {
		t.Errorf("caches %v, want %v", m.Caches, want)
	}
	want := []proxy{{"https_proxy", "http://proxy.test:3128"}, {"no_proxy", "localhost"}, {"HTTP_PROXY", "proxy.test:1"}}
	if !slices.Equal(m.Proxies, want) {
		t.Errorf("proxies %v, want %v", m.Proxies, want)
	}
}

func TestUserNamespaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, value := range map[string]string{
		"user/max_user_namespaces": "0\n", "kernel/unprivileged_userns_clone": "1\n", "kernel/apparmor_restrict_unprivileged_userns": "1\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := namespaces(dir)
	want := []namespace{
		{"user.max_user_namespaces", "0", false}, {"kernel.unprivileged_userns_clone", "1", true}, {"kernel.apparmor_restrict_unprivileged_userns", "1", false},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	refused := machine{FreeBytes: 1 << 20, Namespaces: got}
	for root, wanted := range map[bool]doctorRow{
		false: {markBad, "user namespaces", "refused: user.max_user_namespaces = 0, kernel.apparmor_restrict_unprivileged_userns = 1; the weaker level of the sandbox is used"},
		true:  {markNone, "user namespaces", "refused to ordinary users: user.max_user_namespaces = 0, kernel.apparmor_restrict_unprivileged_userns = 1"},
	} {
		if rows := refused.rows(root); !slices.Contains(rows, wanted) || rows[0].mark != markBad {
			t.Errorf("root %v: %v", root, rows)
		}
	}
}
