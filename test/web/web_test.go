package web_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/test/binary"
	"github.com/deft-dev/deft/test/chromium"
	"github.com/deft-dev/deft/test/gitimage"
	"github.com/deft-dev/deft/web"
)

var grep = flag.String("grep", "", "run only the cases whose names match")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(binary.Run(m))
}

func TestPage(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../web")
	if err != nil {
		t.Fatal(err)
	}
	playwright := filepath.Join(root, "node_modules", ".bin", "playwright")
	if _, err := os.Stat(playwright); err != nil {
		missing(t, "Playwright is not installed: web/scripts/install.sh")
	}
	browser, err := chromium.Path(t)
	if err != nil {
		missing(t, "chromium is not installed")
	}
	if os.Getenv("DEFT_BIN") == "" && !web.Built() {
		missing(t, "the web app is not built: make web")
	}
	docker := os.Getenv("DEFT_TEST_DOCKER")
	gitImage := "" // none: the cases with containers are skipped, in CI they fail
	if _, err := os.Stat(strings.TrimPrefix(docker, "unix://")); err == nil || os.Getenv("CI") == "true" {
		gitImage = gitimage.Make(t, docker)
	}
	args := []string{"test", "--config", filepath.Join("e2e", "playwright.config.ts")}
	if *grep != "" {
		args = append(args, "--grep", *grep)
	}
	results := t.TempDir()
	cmd := exec.CommandContext(t.Context(), playwright, args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "DEFT_BIN="+binary.Path(), "DEFT_CHROMIUM="+browser, "DEFT_WEB_RESULTS="+results, "DEFT_TEST_GIT_IMAGE="+gitImage)
	out, err := cmd.CombinedOutput()
	if err != nil {
		pages, globErr := filepath.Glob(filepath.Join(results, "*", "error-context.md"))
		for _, page := range pages {
			text, err := os.ReadFile(page)
			_, snapshot, _ := strings.Cut(string(text), "```yaml")
			snapshot, _, _ = strings.Cut(snapshot, "```")
			t.Logf("what %s showed: %.8000s (%v)", filepath.Base(filepath.Dir(page)), snapshot, err)
		}
		t.Fatalf("%v (%v)\n%s", err, globErr, withoutPassed(string(out)))
	}
	t.Logf("%s", out)
}

// withoutPassed leaves out the lines of cases that passed or were skipped, so
// that a log which is cut still has the failures.
func withoutPassed(out string) string {
	var kept []string
	for line := range strings.Lines(out) {
		if mark, _, _ := strings.Cut(strings.TrimSpace(line), " "); mark != "✓" && mark != "-" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// missing skips the test for a reason, or fails it if CI is "true".
func missing(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}
