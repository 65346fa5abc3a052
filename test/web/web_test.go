package web_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/binary"
	"github.com/deft-dev/deft/test/chromium"
	"github.com/deft-dev/deft/test/hostimage"
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
	must.Succeed(t, err)
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
		gitImage = hostimage.Git(t, docker)
	}
	args := []string{"test", "--config", filepath.Join("e2e", "playwright.config.ts"), "--reporter", filepath.Join("e2e", "reporter.ts")}
	if *grep != "" {
		args = append(args, "--grep", *grep)
	}
	cmd := exec.CommandContext(t.Context(), playwright, args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "DEFT_BIN="+binary.Path(), "DEFT_CHROMIUM="+browser, "DEFT_WEB_RESULTS="+t.TempDir(), "DEFT_TEST_GIT_IMAGE="+gitImage)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	must.Succeed(t, err)
	must.Succeed(t, cmd.Start())
	follow(t, out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said.String())
	}
}

// line is what web/e2e/reporter.ts says: that a case begins or ends, or an error of no case.
type line struct {
	Begin, End, Error string
	Skipped, Failed   bool
	Output            string
	Errors            []string
	Context           string // the file that has what the page showed
}

// follow makes a subtest of each case that runs, so that one which fails is told at once, and
// one which hangs is named while it does.
func follow(t *testing.T, out io.Reader) {
	ends := map[string]chan line{}
	var running sync.WaitGroup
	defer running.Wait()
	for r := bufio.NewReader(out); ; {
		text, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		var l line
		if json.Unmarshal(text, &l) != nil {
			t.Logf("%s", text) // of Playwright itself
			continue
		}
		switch {
		case l.Begin != "":
			end := make(chan line, 1)
			ends[l.Begin] = end
			running.Go(func() { t.Run(l.Begin, func(t *testing.T) { finish(t, end) }) })
		case l.End != "":
			ends[l.End] <- l
			delete(ends, l.End)
		default:
			t.Error(l.Error)
		}
	}
	for _, end := range ends {
		close(end)
	}
}

// finish ends the subtest of a case when that does, with its result.
func finish(t *testing.T, end <-chan line) {
	l, ok := <-end
	if !ok {
		t.Fatal("Playwright has ended before the case")
	}
	if l.Output != "" {
		t.Log(l.Output)
	}
	if l.Skipped {
		t.Skip()
	}
	if !l.Failed {
		return
	}
	t.Error(strings.Join(l.Errors, "\n"))
	if l.Context != "" {
		text, err := os.ReadFile(l.Context)
		_, snapshot, _ := strings.Cut(string(text), "```yaml")
		snapshot, _, _ = strings.Cut(snapshot, "```")
		t.Logf("what the page showed: %.8000s (%v)", snapshot, err)
	}
}

// missing skips the test for a reason, or fails it if CI is "true".
func missing(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}
