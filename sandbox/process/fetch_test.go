package process_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
)

// program is a tool that fetches something over HTTPS.
type program struct {
	name, host string
	path       string // as the sandbox sees it; "" if it is missing
	script     string // prints "FETCHED"
	serve      func(t *testing.T, mux *http.ServeMux)
}

// TestFetch proves that the usual tools fetch packages through the proxy without
// settings for it, and that they cannot from a host that is not granted.
func TestFetch(t *testing.T) {
	t.Parallel()
	n := inNetwork(t)
	if n == nil {
		return
	}
	for _, p := range []program{
		{"git", "git.test", find("/usr/bin/git"), `"$TOOL" clone -q https://git.test/git/demo.git demo && cat demo/file`, serveGit},
		{"pip", "pypi.test", find("/usr/bin/python3"), `"$TOOL" -m pip install -q --disable-pip-version-check --no-cache-dir --index-url https://pypi.test/simple --target lib demo && PYTHONPATH=lib "$TOOL" -c "import demo"`, servePyPI},
		{"npm", "npm.test", find("/usr/bin/npm"), `"$TOOL" install --loglevel=error --no-audit --no-fund --registry https://npm.test/npm/ demo && node -e "require('demo')"`, serveNPM},
		{"go", "goproxy.test", find("/usr/local/go/bin/go", "/usr/bin/go"), `"$TOOL" mod init -C . x.test/x && "$TOOL" get demo.test/demo@v1.0.0 && cat "$("$TOOL" list -m -f '{{.Dir}}' demo.test/demo)/demo.go"`, serveGoProxy},
		{"cargo", "crates.test", sparseCargo(), `"$TOOL" fetch -q && cat .cargo-home/registry/src/*/demo-1.0.0/src/lib.rs`, serveCrates},
	} {
		if !again(p.name, "git") {
			continue
		}
		p.serve(t, n.mux)
		for _, c := range []struct {
			level   string
			network sandbox.Network
			fetches bool
		}{
			{process.LevelNamespaces, sandbox.Network(p.host), true},
			{process.LevelNamespaces, "site.test", false},
			{process.LevelLandlock, "open", true},
		} {
			t.Run(strings.Join([]string{p.name, c.level, string(c.network)}, " "), func(t *testing.T) {
				if p.path == "" {
					if os.Getenv("CI") == "true" {
						t.Fatal(p.name + " is missing")
					}
					t.Skip(p.name + " is missing")
				}
				b := setup(t, c.level)
				b.home = os.Getenv("HOME") // Rust's toolchain may be there
				b.Provider = b.provider(t, c.level)
				for name, text := range map[string]string{
					"ca.pem": read(t, n.caFile), "Cargo.toml": "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\ndemo = \"1\"\n",
					"src/main.rs": "fn main() {}\n", ".cargo/config.toml": "[source.crates-io]\nreplace-with = \"t\"\n[source.t]\nregistry = \"sparse+https://crates.test/index/\"\n",
					"package.json": `{"name":"x","version":"0.1.0"}`, "tmp/keep": "",
				} {
					write(t, filepath.Join(b.ws, name), text)
				}
				in := func(name string) string { return filepath.Join(b.ws, name) }
				b.spec.Network = c.network
				b.spec.Env = []string{
					"TOOL=" + p.path, "HOME=" + b.ws, "PATH=" + filepath.Dir(p.path) + ":/usr/local/bin:/usr/bin:/bin", "TMPDIR=" + in("tmp"),
					"SSL_CERT_FILE=" + in("ca.pem"), "GIT_SSL_CAINFO=" + in("ca.pem"), "PIP_CERT=" + in("ca.pem"), "NODE_EXTRA_CA_CERTS=" + in("ca.pem"), "CARGO_HTTP_CAINFO=" + in("ca.pem"),
					"GOPROXY=https://goproxy.test/go", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod -modcacherw", "GOPATH=" + in("gopath"), "GOCACHE=" + in("gocache"),
					"CARGO_HOME=" + in(".cargo-home"), "npm_config_cafile=" + in("ca.pem"), "npm_config_cache=" + in("npm-cache"), "npm_config_fetch_retries=0", "PIP_RETRIES=0", "CARGO_NET_RETRY=0",
					"RUSTC=" + rustTool("rustc"), "GIT_TERMINAL_PROMPT=0",
				}
				s := b.start(t)
				before := n.world.Load()
				got := sh(t, s, p.script+" 2>&1").Out
				if fetched := strings.Contains(got, "FETCHED"); fetched != c.fetches {
					t.Errorf("fetched: %v, want %v: %s", fetched, c.fetches, got)
				}
				if asked := n.world.Load() != before; asked != c.fetches {
					t.Errorf("requests arrived: %v", asked)
				}
				if !c.fetches { // some of the tools do not show it
					if told := ask(t, s, request{Act: "refused"}).Out; !strings.Contains(told, p.host+" is not a host that this sandbox may reach (--net="+p.host+" allows it)") {
						t.Errorf("the proxy tells %q; the tool says: %s", told, got)
					}
				}
			})
		}
	}
}

// again reports whether a tool is tried. For an ordinary user, one is enough that root has
// tried too; the proof tries all but cargo, as users have Debian's, if any, which is too old.
func again(tool, enough string) bool {
	if os.Getenv(userVariable) == "" {
		return true
	}
	return tool == enough || os.Getenv("DEFT_PROOF") != "" && tool != "cargo"
}

// find returns the first of the paths that exists.
func find(paths ...string) string {
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

// rustTool finds a program of Rust's toolchain: in the home of users there is only
// rustup, which would look for one.
func rustTool(name string) string {
	if out, err := exec.Command("rustup", "which", name).Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	return find("/usr/bin/"+name, "/usr/local/cargo/bin/"+name)
}

// sparseCargo returns a cargo that can read registries over HTTP: version 1.68.
func sparseCargo() string {
	path := rustTool("cargo")
	out, err := exec.Command(path, "--version").Output()
	var minor int
	if _, scan := fmt.Sscanf(string(out), "cargo 1.%d.", &minor); err != nil || scan != nil || minor < 68 {
		return ""
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	must.Succeed(t, err)
	return string(raw)
}

// serveBytes answers a path.
func serveBytes(mux *http.ServeMux, path string, body []byte) {
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
}

func serveGit(t *testing.T, mux *http.ServeMux) {
	root := t.TempDir()
	write(t, filepath.Join(root, "work/file"), "FETCHED")
	git := func(args ...string) string { return testtree.Git(t, root, args...) }
	git("init", "-q", "work")
	git("-C", "work", "add", "file")
	git("-C", "work", "commit", "-qm", "one")
	git("clone", "-q", "--bare", "work", "demo.git")
	mux.Handle("/git/", &cgi.Handler{
		Path: filepath.Join(git("--exec-path"), "git-http-backend"), Root: "/git",
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	})
}

// packages are the registries' packages.
var packages = []string{"demo", "prior"}

func servePyPI(t *testing.T, mux *http.ServeMux) {
	for _, name := range packages {
		info := name + "-1.0.dist-info/"
		wheel := zipped(t, map[string]string{
			name + ".py": "print('FETCHED')\n", info + "METADATA": "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0\n",
			info + "WHEEL":  "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
			info + "RECORD": name + ".py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n",
		})
		file := name + "-1.0-py3-none-any.whl"
		mux.HandleFunc("GET /simple/"+name+"/", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<!DOCTYPE html><a href="/files/%[1]s">%[1]s</a>`, file)
		})
		mux.HandleFunc("GET /files/"+file, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "max-age=86400") // as on PyPI
			_, _ = w.Write(wheel)
		})
	}
}

func serveNPM(t *testing.T, mux *http.ServeMux) {
	for _, name := range packages {
		tarball := tarred(t, map[string]string{
			"package/package.json": `{"name":"` + name + `","version":"1.0.0","main":"index.js"}`, "package/index.js": "console.log('FETCHED')\n",
		})
		sum := sha512.Sum512(tarball)
		serveBytes(mux, "/npm/"+name, fmt.Appendf(nil, `{"name":"%[1]s","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"%[1]s","version":"1.0.0",
		"dist":{"tarball":"https://npm.test/npm/%[1]s/-/%[1]s-1.0.0.tgz","integrity":"sha512-%[2]s"}}}}`, name, base64.StdEncoding.EncodeToString(sum[:])))
		serveBytes(mux, "/npm/"+name+"/-/"+name+"-1.0.0.tgz", tarball)
	}
}

func serveGoProxy(t *testing.T, mux *http.ServeMux) {
	for _, name := range packages {
		base, mod := "/go/"+name+".test/"+name+"/@v/", "module "+name+".test/"+name+"\n\ngo 1.20\n"
		serveBytes(mux, base+"list", []byte("v1.0.0\n"))
		serveBytes(mux, base+"v1.0.0.info", []byte(`{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}`))
		serveBytes(mux, base+"v1.0.0.mod", []byte(mod))
		in := name + ".test/" + name + "@v1.0.0/"
		serveBytes(mux, base+"v1.0.0.zip", zipped(t, map[string]string{
			in + "go.mod": mod, in + name + ".go": "package " + name + " // FETCHED\n\n// Text is a text.\nconst Text = \"text\"\n",
		}))
	}
}

func serveCrates(t *testing.T, mux *http.ServeMux) {
	serveBytes(mux, "/index/config.json", []byte(`{"dl":"https://crates.test/dl"}`))
	for _, name := range packages {
		in := name + "-1.0.0/"
		crate := tarred(t, map[string]string{
			in + "Cargo.toml": "[package]\nname = \"" + name + "\"\nversion = \"1.0.0\"\nedition = \"2021\"\n",
			in + "src/lib.rs": "// FETCHED\npub const TEXT: &str = \"text\";\n",
		})
		sum := sha256.Sum256(crate)
		serveBytes(mux, "/index/"+name[:2]+"/"+name[2:4]+"/"+name, fmt.Appendf(nil, `{"name":"%s","vers":"1.0.0","deps":[],"cksum":"%s","features":{},"yanked":false}`+"\n", name, hex.EncodeToString(sum[:])))
		serveBytes(mux, "/dl/"+name+"/1.0.0/download", crate)
	}
}

func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for name, text := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		must.Succeed(t, err)
	}
	must.Succeed(t, z.Close())
	return buf.Bytes()
}

func tarred(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	tw := tar.NewWriter(gz)
	for name, text := range files {
		err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = tw.Write([]byte(text))
		}
		must.Succeed(t, err)
	}
	must.Succeed(t, tw.Close())
	must.Succeed(t, gz.Close())
	return buf.Bytes()
}
