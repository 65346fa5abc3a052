package sandbox_test

import (
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

func TestParseNetwork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want, mode string }{
		{"", "none", "none"},
		{" None ", "none", "none"},
		{"open", "open", "open"},
		{"OPEN, Wiki.Corp.", "open,wiki.corp", "open"},
		{"b.org,a.org:443,b.org", "a.org:443,b.org", "list"},
		{"*.example.com", ".example.com", "list"},
		{".example.com:8443", ".example.com:8443", "list"},
		{"10.1.2.3", "10.1.2.3", "list"},
		{"10.1.2.3:80", "10.1.2.3:80", "list"},
		{"FD00::1", "fd00::1", "list"},
		{"[fd00::1]", "fd00::1", "list"},
		{"[fd00::1]:443", "[fd00::1]:443", "list"},
		{"::ffff:10.1.2.3", "10.1.2.3", "list"},
		{"[::ffff:10.1.2.3]:80", "10.1.2.3:80", "list"},
		{"localhost", "localhost", "list"}, // may be written, is refused when it resolves
	} {
		n, err := sandbox.ParseNetwork(c.in)
		if err != nil || string(n) != c.want || n.Mode() != c.mode {
			t.Errorf("%q is %q, mode %s, %v; want %q, %s", c.in, n, n.Mode(), err, c.want, c.mode)
		}
		if again, err := sandbox.ParseNetwork(string(n)); again != n || err != nil {
			t.Errorf("%q read again is %q, %v", n, again, err)
		}
	}
	for _, in := range []string{
		"none,open", "none,a.org", "https://a.org", "a.org/x", "a.org:0", "a.org:70000", "a.org:", ":443", ".", "*", "*.", "*a.org",
		"a..org", "-a.org", "a b", "käse.de", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "1.2.3.4.5", "[1.2.3.4]", "[::1", "[::1%lo]:80", "fe80::1%eth0",
		"a.org:443:443", "user@a.org", "a.org\n", "\x00",
	} {
		if n, err := sandbox.ParseNetwork(in + ","); !fault.Is(err, fault.Invalid) && in != "a.org\n" {
			t.Errorf("%q is taken as %q, %v", in, n, err)
		}
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		net, host string
		port      uint16
		want      bool
	}{
		{"a.org", "a.org", 443, true},
		{"a.org", "b.a.org", 443, false},
		{"a.org", "ba.org", 443, false},
		{".a.org", "b.a.org", 443, true},
		{".a.org", "c.b.a.org", 443, true},
		{".a.org", "a.org", 443, true},
		{".a.org", "ba.org", 443, false},
		{"a.org:443", "a.org", 443, true},
		{"a.org:443", "a.org", 80, false},
		{"10.0.0.1", "10.0.0.1", 80, true},
		{"10.0.0.1", "::ffff:10.0.0.1", 80, true},
		{"10.0.0.1", "10.0.0.11", 80, false},
		{".0.0.a1", "10.0.0.1", 80, false},
		{"fd00::1", "fd00:0::1", 80, true},
		{"[fd00::1]:80", "fd00::1", 81, false},
		{"none", "none", 80, false},
		{"open", "open", 80, false},
		{"open,wiki.corp", "wiki.corp", 80, true},
		{"", "", 80, false},
	} {
		if got := sandbox.Network(c.net).Grants(c.host, c.port); got != c.want {
			t.Errorf("%q grants %s port %d: %v", c.net, c.host, c.port, got)
		}
	}
}

func FuzzParseNetwork(f *testing.F) {
	for _, s := range []string{"open,wiki.corp", "a.org:443,.b.org", "[fd00::1]:443,10.0.0.1", "none", "*.x,", "::ffff:1.2.3.4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := sandbox.ParseNetwork(text)
		if err != nil {
			return
		}
		if again, err := sandbox.ParseNetwork(string(n)); err != nil || again != n {
			t.Errorf("%q is normalized to %q, that to %q, %v", text, n, again, err)
		}
	})
}
