package appserver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/test/binary"
)

// TestProxyWithoutHost: a proxy that names the server by an address of its own, as nginx does
// unless it is told otherwise, serves the pages at the public address, and no others.
func TestProxyWithoutHost(t *testing.T) {
	t.Parallel()
	g := guard(t, nil, "--public-url", "https://deft.example.org")
	_, port, _ := strings.Cut(strings.TrimPrefix(addressOf(t, g), "//"), ":")
	g.url, g.host = "http://127.0.0.1:"+port, "127.0.0.1:"+port
	for _, origin := range []string{"https://evil.example", "http://deft.example.org", "https://deft.example.org:444"} {
		g.want(t, 403, "POST", "/api/v1/login", `{"code":"`+g.code+`"}`, "Origin: "+origin)
	}
	a := g.want(t, 204, "POST", "/api/v1/login", `{"code":"`+g.code+`"}`, "Origin: https://deft.example.org")
	cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	g.want(t, 200, "POST", "/api/v1/sandboxes", "", "Origin: https://deft.example.org", "Cookie: "+cookie)
	g.want(t, 403, "POST", "/api/v1/sandboxes", "", "Origin: https://evil.example", "Cookie: "+cookie)
}

// TestBadCertificate: a certificate that cannot be used is said before the server is ready,
// with the settings that name it.
func TestBadCertificate(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	for name, flags := range map[string][]string{
		"exchanged": {"--tls-cert", key, "--tls-key", cert},
		"missing":   {"--tls-cert", cert, "--tls-key", filepath.Join(t.TempDir(), "none.pem")},
	} {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), binary.Path(), append([]string{"serve", "--data", dir, "--address", "127.0.0.1:0"}, flags...)...)
		cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--tls-cert") || !strings.Contains(string(out), "--tls-key") || strings.Contains(string(out), "sign in") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}
