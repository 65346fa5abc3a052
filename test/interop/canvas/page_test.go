package canvas_test

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/chromium"
	"github.com/deft-dev/deft/test/interop/interoptest"
)

func TestMain(m *testing.M) { interoptest.Main(m) }

func TestPage(t *testing.T) {
	t.Parallel()
	adder, err := filepath.Abs("../typescript/mcpserver.mjs")
	must.Succeed(t, err)
	const key = "key-of-interop"
	server := interoptest.Serve(t, interoptest.Options{Key: key})
	run(t, "main.mjs", map[string]any{
		"page":      serve(t, server.URL, key),
		"wrong":     serve(t, server.URL, "of-another-server"),
		"elsewhere": serve(t, "", ""),
		"open":      interoptest.Serve(t, interoptest.Options{}).URL,
		"second":    interoptest.Serve(t, interoptest.Options{Key: key}).URL,
		"key":       key,
		"llm":       interoptest.LLM(t, "llm.yaml"),
		"node":      interoptest.Node(t),
		"mcp":       adder,
		"home":      filepath.Join(server.Dir, "home"),
	})
}

// TestAppServer uses the page with `deft serve` as its backend, which it takes for
// OpenHands' cloud. It sends requests to a sandbox to its own origin's /api/cloud-proxy.
func TestAppServer(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	link := interoptest.AppServer(t, "DEFT_SERVER_ALLOWED_ORIGINS=http://127.0.0.1:"+port)
	host, _, _ := strings.Cut(link, "/#")
	page := serveAt(t, port, "", "--route", "/api/cloud-proxy="+host)
	run(t, "appserver.mjs", map[string]any{"page": page, "link": link, "llm": interoptest.LLM(t, "llm.yaml")})
}

// TestFilesOfCloud shows why no answer of a server renews the list of files of a cloud's
// conversation: the page keeps it under a key that it names once, to make it, and so never to
// invalidate it. Its button and its tools invalidate the list of an agent server's files.
func TestFilesOfCloud(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob(filepath.Join(interoptest.Installed(t), "canvas", "build", "assets", "*.js"))
	if err != nil || len(scripts) == 0 {
		t.Fatal("the page has no scripts", err)
	}
	named := map[string]int{}
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		must.Succeed(t, err)
		for _, key := range []string{"`workspace-files`", "`workspace-files-cloud`"} {
			named[key] += strings.Count(string(text), key)
		}
	}
	if d := cmp.Diff(map[string]int{"`workspace-files`": 3, "`workspace-files-cloud`": 1}, named); d != "" {
		t.Errorf("how often the page names its keys (-want +got):\n%s", d)
	}
}

// TestDevice signs the page in by the device flow. The page opens addresses with https alone.
func TestDevice(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	cert, key := certificate(t)
	link := interoptest.AppServer(t, "DEFT_SERVER_ALLOWED_ORIGINS=http://127.0.0.1:"+port, "DEFT_SERVER_TLS_CERTIFICATE="+cert, "DEFT_SERVER_TLS_KEY="+key)
	run(t, "device.mjs", map[string]any{"page": serveAt(t, port, ""), "link": link})
}

// certificate writes the certificate of net/http's tests, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pair := s.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	must.Succeed(t, err)
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: private}} {
		must.Succeed(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	return cert, key
}

// run runs a script in a browser.
func run(t *testing.T, script string, about map[string]any) {
	t.Helper()
	browser, err := chromium.Path(t)
	if err != nil {
		interoptest.Missing(t, "chromium is not installed")
	}
	shots := os.Getenv("DEFT_SHOTS")
	if shots == "" {
		shots = t.TempDir()
	}
	about["chromium"] = browser
	about["shots"] = filepath.Join(shots, script)
	interoptest.Script(t, script, about)
}

// serve starts the page's own server and returns its address. With a backend it
// hands the paths of an agent server on to it; without, the user names one.
func serve(t *testing.T, backend, key string) string {
	t.Helper()
	var args []string
	for _, path := range []string{"/api", "/sockets", "/server_info", "/alive", "/health", "/ready", "/docs", "/openapi.json"} {
		if backend != "" {
			args = append(args, "--route", path+"="+backend)
		}
	}
	return serveAt(t, freePort(t), key, args...)
}

func serveAt(t *testing.T, port, key string, args ...string) string {
	t.Helper()
	dir := filepath.Join(interoptest.Installed(t), "canvas")
	args = append([]string{
		filepath.Join(dir, "scripts", "static-server.mjs"), "--dir", filepath.Join(dir, "build"),
		"--host", "127.0.0.1", "--port", port, "--disable-telemetry",
	}, args...)
	if key != "" {
		args = append(args, "--session-api-key", key)
	}
	return interoptest.Start(t, regexp.MustCompile(`(http://127\.0\.0\.1:`+port+`)`), interoptest.Node(t), args, nil)
}

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	defer ln.Close()
	return strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)
}
