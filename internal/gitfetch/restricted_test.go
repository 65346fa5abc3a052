package gitfetch

import (
	"testing"

	"github.com/deft-dev/deft/fault"
)

// TestServer: Git gets no URL whose host it may read in another way than this program.
func TestServer(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://example.com/a/b.git":          "example.com 443",
		"https://user:pw@Example.com:8443/b":   "Example.com 8443",
		"http://example.com/b":                 "example.com 80",
		"ssh://git@example.com/b":              "example.com 22",
		"git@example.com:a/b.git":              "example.com 22",
		"https://[2a00::1]:1/b":                "2a00::1 1",
		"https://%31%32%37.0.0.1/b":            "",
		"https://example.com./b":               "",
		"git@example.com.:b":                   "",
		"https://ex$(id).com/b":                "",
		"ssh://git@a;touch${IFS}x/b":           "",
		"ssh://git@-oProxyCommand=x/b":         "",
		"https://１２７.0.0.1/b":                  "",
		"https://example.com\\@127.0.0.1/b":    "",
		"https://exa mple.com/b":               "",
		"https://[fe80::1%25lo]/b":             "",
		"git://example.com/b":                  "", // cannot be kept at an address
		"file:///etc":                          "",
		"https:///b":                           "",
		"https://example.com:99999999999999/b": "example.com 99999999999999",
	} {
		host, port, err := server(url)
		got := host + " " + port
		if err != nil {
			got = ""
		}
		if got != want || err != nil && !fault.Is(err, fault.Denied) {
			t.Errorf("%s: %q, want %q; %v", url, got, want, err)
		}
	}
}
