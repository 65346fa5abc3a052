package runtimeapi

import (
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/runtimeapi/registry"
)

const id = "abcdefghij0123456789"

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, url string
		host, path   string // of a request
		id           string // that it is for
		tail         string // of its path, there
	}{
		{"https://{runtime_id}.example.org", "https://" + id + ".example.org", id + ".example.org", "/a/b", id, "/a/b"},
		{"https://{runtime_id}.example.org:8443/", "https://" + id + ".example.org:8443", id + ".Example.org:8443", "/", id, "/"},
		{"http://rt-{runtime_id}.example.org", "http://rt-" + id + ".example.org", "rt-" + id + ".example.org", "/x", id, "/x"},
		{"http://{runtime_id}.example.org", "http://" + id + ".example.org", "vscode-" + id + ".example.org", "/", "", ""},
		{"http://{runtime_id}.example.org", "http://" + id + ".example.org", "example.org", "/list", "", ""},
		{"https://example.org/{runtime_id}", "https://example.org/" + id, "example.org", "/" + id + "/a%2Fb/c", id, "/a%2Fb/c"},
		{"https://example.org/{runtime_id}", "https://example.org/" + id, "example.org", "/" + id, id, "/"},
		{"https://example.org/{runtime_id}", "https://example.org/" + id, "example.org", "/sessions/x", "", ""},
		{"https://example.org/r/{runtime_id}/at", "https://example.org/r/" + id + "/at", "example.org", "/r/" + id + "/at/x", id, "/x"},
		{"https://example.org/r/{runtime_id}/at", "https://example.org/r/" + id + "/at", "example.org", "/r/" + id + "/atx", "", ""},
		{"http://build7:{port}", "http://build7:4711", "build7:3000", "/" + id, "", ""},
	} {
		a, err := NewAddresses(c.pattern, "127.0.0.1", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if got := a.url(registry.Runtime{ID: id, Address: "4711"}); got != c.url {
			t.Errorf("%s: %s, want %s", c.pattern, got, c.url)
		}
		r := httptest.NewRequest("GET", "http://"+c.host+c.path, nil)
		got, skip, ok := a.match(r)
		if ok != (c.id != "") || ok && (got != c.id || tail(r.URL.EscapedPath(), skip) != c.tail) {
			t.Errorf("%s: %s%s is for %q, path %q", c.pattern, c.host, c.path, got, tail(r.URL.EscapedPath(), skip))
		}
	}
	for _, pattern := range []string{
		"", "example.org/{runtime_id}", "ftp://{runtime_id}.x", "http://x", "http://{runtime_id}.x/{runtime_id}", "http://{runtime_id}.x:{port}", "http://x/a{runtime_id}",
		"http://x/{runtime_id}b", "http://x/?r={runtime_id}",
	} {
		if _, err := NewAddresses(pattern, "127.0.0.1", nil); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// TestPorts: a runtime has its port again after a restart, if nobody has taken it.
func TestPorts(t *testing.T) {
	t.Parallel()
	open := func() *Addresses {
		a, err := NewAddresses(DefaultPattern("127.0.0.1"), "127.0.0.1", slog.New(slog.DiscardHandler))
		must.Succeed(t, err)
		t.Cleanup(func() { must.Report(t, a.close()) })
		return a
	}
	take := func(a *Addresses, had string) string {
		port, err := a.Open(id, had)
		must.Succeed(t, err)
		return port
	}
	first, second := open(), open()
	port := take(first, "")
	if again := take(first, ""); again != port {
		t.Errorf("%s, and %s", port, again)
	}
	if other := take(second, port); other == port {
		t.Error("one port has two owners")
	}
	second.Close(id)
	first.Close(id)
	if again := take(second, port); again != port {
		t.Errorf("%s after %s", again, port)
	}
}

func TestParseKeys(t *testing.T) {
	t.Parallel()
	keys, err := ParseKeys("# keys\none first\n\n second \nthree third 7\n", 5)
	if err != nil || len(keys) != 3 {
		t.Fatalf("%+v, %v", keys, err)
	}
	for secret, want := range map[string]Key{"first": {Name: "one", Quota: 5}, "second": {Name: "default", Quota: 5}, "third": {Name: "three", Quota: 7}} {
		if got, ok := find(keys, secret); !ok || got.Name != want.Name || got.Quota != want.Quota {
			t.Errorf("%s: %+v", secret, got)
		}
	}
	for _, secret := range []string{"", "one", "FIRST", "7"} {
		if got, ok := find(keys, secret); ok {
			t.Errorf("%q is the key of %s", secret, got.Name)
		}
	}
	for _, text := range []string{"", "\n", "# only", "a b c", "a b -1", "a b 1 d", "a same\nb same", "same\nsame"} {
		if _, err := ParseKeys(text, 1); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
