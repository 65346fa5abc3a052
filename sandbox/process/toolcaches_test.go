package process_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
)

// builder is a tool that fetches packages, keeps them in a cache and builds with them.
type builder struct {
	program
	files map[string]string // in the workspace
	// The user has fetched prior outside, as seed does in another directory that has
	// files of its own. Then build, in a sandbox, fetches demo beside it and prints
	// WORKS; rebuild does so in the next one, without network if offline is set.
	seedFiles     map[string]string
	seed, rebuild string
	offline       bool
	// The paths by which the packages themselves are fetched.
	prior, demo string
}

// The packages' files of a workspace.
const (
	cargoConfig = "[source.crates-io]\nreplace-with = \"t\"\n[source.t]\nregistry = \"sparse+https://crates.test/index/\"\n"
	cargoToml   = "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nprior = \"1\"\n"
	pom         = `<project><modelVersion>4.0.0</modelVersion><parent><groupId>test.prior</groupId><artifactId>prior</artifactId><version>1</version><relativePath/></parent>
<groupId>test.x</groupId><artifactId>x</artifactId><version>1</version><packaging>pom</packaging>%s
<repositories><repository><id>central</id><url>https://maven.test/m2</url></repository></repositories></project>`
	importsDemo = `<dependencyManagement><dependencies><dependency><groupId>test.demo</groupId><artifactId>demo</artifactId><version>1</version><type>pom</type><scope>import</scope></dependency></dependencies></dependencyManagement>`
)

var builders = []builder{
	{
		program: program{
			"go", "goproxy.test", find("/usr/local/go/bin/go", "/usr/bin/go"),
			`"$TOOL" get demo.test/demo@v1.0.0 prior.test/prior@v1.0.0 && "$TOOL" test -v ./...`, serveGoProxy,
		},
		files: map[string]string{
			"go.mod":    "module x.test/x\n\ngo 1.20\n",
			"x_test.go": "package x\n\nimport (\n\t\"testing\"\n\n\t\"demo.test/demo\"\n\t\"prior.test/prior\"\n)\n\nfunc TestX(t *testing.T) {\n\tif demo.Text == prior.Text {\n\t\tt.Log(\"WORKS\")\n\t}\n}\n",
		},
		seedFiles: map[string]string{"go.mod": "module seed.test/seed\n\ngo 1.20\n"},
		seed:      `"$TOOL" get prior.test/prior@v1.0.0`, rebuild: `"$TOOL" test -v -count=1 ./...`, offline: true,
		prior: "/go/prior.test/prior/@v/v1.0.0.zip", demo: "/go/demo.test/demo/@v/v1.0.0.zip",
	},
	{
		program: program{"npm", "npm.test", find("/usr/bin/npm"), `"$TOOL" install --prefer-offline demo prior && "$TOOL" test`, serveNPM},
		files: map[string]string{
			"package.json": `{"name":"x","version":"0.1.0","scripts":{"test":"node -e \"require('demo'); require('prior'); console.log('WO'+'RKS')\""}}`,
		},
		seedFiles: map[string]string{"package.json": `{"name":"seed","version":"0.1.0"}`},
		seed:      `"$TOOL" install prior`, rebuild: `rm -rf node_modules && "$TOOL" ci --offline && "$TOOL" test`, offline: true,
		prior: "/npm/prior/-/prior-1.0.0.tgz", demo: "/npm/demo/-/demo-1.0.0.tgz",
	},
	{
		program: program{
			"pip", "pypi.test", find("/usr/bin/python3"),
			`"$TOOL" -m pip install --target lib demo prior && PYTHONPATH=lib "$TOOL" -c "import demo, prior; print('WO'+'RKS')"`, servePyPI,
		},
		seed: `"$TOOL" -m pip install --target lib prior`,
		// The index is asked each time.
		rebuild: `rm -rf lib && "$TOOL" -m pip install --target lib demo prior && PYTHONPATH=lib "$TOOL" -c "import demo, prior; print('WO'+'RKS')"`,
		prior:   "/files/prior-1.0-py3-none-any.whl", demo: "/files/demo-1.0-py3-none-any.whl",
	},
	{
		program: program{"cargo", "crates.test", sparseCargo(), `"$TOOL" build && ./target/debug/x`, serveCrates},
		files: map[string]string{
			"Cargo.toml": cargoToml + "demo = \"1\"\n", ".cargo/config.toml": cargoConfig,
			"src/main.rs": "fn main() { if demo::TEXT == prior::TEXT { println!(\"WORKS\") } }\n",
		},
		seedFiles: map[string]string{"Cargo.toml": cargoToml, ".cargo/config.toml": cargoConfig, "src/main.rs": "fn main() {}\n"},
		seed:      `"$TOOL" fetch`, rebuild: `rm -rf target && "$TOOL" run --offline`, offline: true,
		prior: "/dl/prior/1.0.0/download", demo: "/dl/demo/1.0.0/download",
	},
	{
		program:   program{"mvn", "maven.test", find("/usr/bin/mvn"), `"$TOOL" -B -ntp validate && echo WORKS`, serveMaven},
		files:     map[string]string{"pom.xml": fmt.Sprintf(pom, importsDemo)},
		seedFiles: map[string]string{"pom.xml": fmt.Sprintf(pom, "")},
		seed:      `"$TOOL" -B -ntp validate`, rebuild: `"$TOOL" -B -o validate && echo WORKS`, offline: true,
		prior: "/m2/test/prior/prior/1/prior-1.pom", demo: "/m2/test/demo/demo/1/demo-1.pom",
	},
}

func serveMaven(_ *testing.T, mux *http.ServeMux) {
	for _, name := range packages {
		serveBytes(mux, fmt.Sprintf("/m2/test/%[1]s/%[1]s/1/%[1]s-1.pom", name), fmt.Appendf(nil,
			`<project><modelVersion>4.0.0</modelVersion><groupId>test.%[1]s</groupId><artifactId>%[1]s</artifactId><version>1</version><packaging>pom</packaging></project>`, name))
	}
}

// TestToolCaches proves that the usual tools work as outside: they read the user's
// caches, keep fetched files for the next conversation in the workspace, and change
// neither the user's caches nor another workspace's view.
func TestToolCaches(t *testing.T) {
	t.Parallel()
	n := inNetwork(t)
	if n == nil {
		return
	}
	for _, tool := range builders {
		if !again(tool.name, "pip") || os.Getenv(userVariable) != "" && tool.name != "npm" && tool.name != "pip" {
			continue // the same takes long once more
		}
		tool.serve(t, n.mux)
		t.Run(tool.name, func(t *testing.T) {
			if tool.path == "" {
				if os.Getenv("CI") == "true" && tool.name != "mvn" {
					t.Fatal(tool.name + " is missing")
				}
				t.Skip(tool.name + " is missing")
			}
			tool.try(t, n)
		})
	}
}

func (c builder) try(t *testing.T, n *internet) {
	b := setup(t, process.LevelNamespaces)
	for name, text := range c.files {
		write(t, filepath.Join(b.ws, name), text)
	}
	ca := filepath.Join(b.ws, "ca.pem")
	write(t, ca, read(t, n.caFile))
	env := []string{
		"TOOL=" + c.path, "HOME=" + b.home, "PATH=" + filepath.Dir(c.path) + ":/usr/local/bin:/usr/bin:/bin",
		"SSL_CERT_FILE=" + ca, "PIP_CERT=" + ca, "NODE_EXTRA_CA_CERTS=" + ca, "CARGO_HTTP_CAINFO=" + ca, "npm_config_cafile=" + ca,
		"GOPROXY=https://goproxy.test/go", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "CGO_ENABLED=0",
		"npm_config_registry=https://npm.test/npm/", "npm_config_fetch_retries=0", "npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false",
		"PIP_INDEX_URL=https://pypi.test/simple", "PIP_RETRIES=0", "PIP_DISABLE_PIP_VERSION_CHECK=1", "CARGO_NET_RETRY=0", "RUSTC=" + rustTool("rustc"),
		// Java takes the home of the user database, and has authorities of its own.
		"MAVEN_OPTS=-Duser.home=" + b.home + " -Dmaven.wagon.http.ssl.insecure=true -Dmaven.wagon.http.ssl.allowall=true",
	}
	if dir, err := os.UserCacheDir(); err == nil && c.name == "go" { // the standard library takes long
		env = append(env, "GOCACHE="+filepath.Join(dir, "go-build"))
		b.env = env
		b.Provider = b.provider(t, process.LevelNamespaces)
	}
	// A child that outlives the command would count its work, in the user's home.
	write(t, filepath.Join(b.home, ".config", "go", "telemetry", "mode"), "off")
	b.spec.Env, b.spec.Network = env, sandbox.Network(c.host)
	if c.name == "cargo" {
		b.spec.Readable = []string{filepath.Dir(filepath.Dir(c.path))}
	}
	c.fetchOutside(t, env)
	if !n.asked(c.prior) {
		t.Fatal("the user has not fetched " + c.prior)
	}
	before := contents(t, b.home)

	conversation := func(id, script string) string {
		t.Helper()
		spec := b.spec
		spec.ID = id
		s, err := b.Start(t.Context(), spec)
		if err != nil {
			missing(t, err)
		}
		defer func() { must.Report(t, b.Remove(context.WithoutCancel(t.Context()), id)) }()
		return sh(t, s, script+" 2>&1").Out
	}
	if got := conversation("first", c.script); !strings.Contains(got, "WORKS") {
		t.Fatalf("with the user's cache: %s", got)
	}
	if n.asked(c.prior) || !n.asked(c.demo) {
		t.Error("the user's cache was not read, or nothing was fetched")
	}
	if c.offline {
		b.spec.Network = "none"
	}
	if got := conversation("next", c.rebuild); !strings.Contains(got, "WORKS") {
		t.Errorf("in the next conversation: %s", got)
	}
	if n.asked(c.prior) || n.asked(c.demo) {
		t.Error("fetched again")
	}
	// Copies of the user's files are changed for this workspace only.
	poison := `cd "$HOME" && for d in go/pkg .npm/_cacache .cache/pip .cargo/registry .m2/repository; do
find "$d" -type f | while read -r f; do chmod u+w "$f" "$(dirname "$f")"; echo POISON >>"$f"; done; done`
	seek := `grep -rls POISON "$HOME" | wc -l`
	conversation("poisoner", poison)
	if got := strings.TrimSpace(conversation("poisoned", seek)); got == "0" {
		t.Error("nothing could be poisoned")
	}
	b.spec.Workspace = filepath.Join(filepath.Dir(b.ws), "elsewhere")
	must.Succeed(t, os.Mkdir(b.spec.Workspace, 0o755))
	if got := strings.TrimSpace(conversation("elsewhere", seek)); got != "0" {
		t.Errorf("%s poisoned files in another workspace", got)
	}
	if after := contents(t, b.home); after != before {
		t.Errorf("the user's home has changed:\n%s", after)
	}
}

// fetchOutside fills the user's cache.
func (c builder) fetchOutside(t *testing.T, env []string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range c.seedFiles {
		write(t, filepath.Join(dir, name), text)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", c.seed)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("outside: %v\n%s", err, out)
	}
}

// contents describes all files of a directory: their names, modes and contents.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&all, "%s %s", path, info.Mode())
		if info.Mode().IsRegular() {
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&all, " %x %s", sha256.Sum256(raw), info.ModTime())
		}
		all.WriteString("\n")
		return nil
	})
	must.Succeed(t, err)
	return all.String()
}
