// Command proof tries the attacks of docs/security.md and docs/security-secrets.md, all of them: it runs the tests
// that the table names, uncached, as root and as an ordinary user, and prints the table
// with the results. The tests of the sandbox try both levels of isolation.
//
//	go run ./test/proof
//	go run ./test/proof sandbox/docker test/runtimeapi    (what these packages try)
//
// Started by an ordinary user, it proves that half only and says so. It exits with 1 if
// a test failed, or was skipped for another reason than who runs it.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/deft-dev/deft/test/binary"
)

// nobody is an account without any right.
const nobody = 65534

// longest is how long the tests of one package may take.
const longest = 15 * time.Minute

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		os.Exit(1)
	}
}

// asksGo is a package whose test asks the go command for modules, which are root's.
const asksGo = "internal/licenses"

// parent is where homes are: the tests try paths that are hidden in them, and
// temporary directories are hidden in any case.
func parent() string {
	if info, err := os.Stat("/home"); err == nil && info.IsDir() && os.Getuid() == 0 {
		return "/home"
	}
	return ""
}

// attack is a row of the table.
type attack struct {
	number, what, result string
	tests                []string // package and test
}

var (
	row      = regexp.MustCompile(`(?m)^\| (\d+) \| (.+) \| (.+) \| (held|by design: .+|open) \| (.+) \|$`)
	testedIn = regexp.MustCompile("^`([a-z0-9/]+)` (.+)$")
)

// attacks reads the table.
func attacks(text string) (all []attack) {
	for _, m := range row.FindAllStringSubmatch(text, -1) {
		result, _, _ := strings.Cut(m[4], ":")
		a := attack{number: m[1], what: m[2], result: result}
		for part := range strings.SplitSeq(m[5], "; ") {
			if t := testedIn.FindStringSubmatch(part); t != nil {
				for name := range strings.SplitSeq(t[2], ", ") {
					a.tests = append(a.tests, t[1]+" "+name)
				}
			}
		}
		all = append(all, a)
	}
	return all
}

// run tries all, or the attacks of some packages.
func run(ctx context.Context, out io.Writer, only []string) error {
	var all []attack
	for _, page := range []string{"docs/security.md", "docs/security-secrets.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			return fmt.Errorf("run it at the top of the repository: %w", err)
		}
		all = append(all, attacks(string(text))...)
	}
	if len(only) > 0 {
		for i := range all {
			all[i].tests = slices.DeleteFunc(all[i].tests, func(t string) bool {
				pkg, _, _ := strings.Cut(t, " ")
				return !slices.Contains(only, pkg)
			})
		}
		all = slices.DeleteFunc(all, func(a attack) bool { return len(a.tests) == 0 })
	}
	dir, err := os.MkdirTemp(parent(), "deft-proof-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &proof{dir: dir, results: map[string]string{}}
	if err := os.Chmod(dir, 0o755); err != nil { // the ordinary user runs programs in it
		return err
	}
	if os.Getuid() == 0 {
		if p.engine, err = shareEngine(ctx, filepath.Join(dir, "docker.sock")); err != nil {
			return err
		}
	}
	if err := p.copySources(ctx); err != nil {
		return err
	}
	if err := binary.Build(filepath.Join(p.dir, "deft")); err != nil { // as it is shipped
		return fmt.Errorf("build deft: %w", err)
	}
	users := []string{"user"}
	if os.Getuid() == 0 {
		users = []string{"root", "user"}
	} else {
		fmt.Fprintln(out, "this is an ordinary user: start it as root to try both")
	}
	packages := map[string]map[string]bool{}
	for _, a := range all {
		for _, t := range a.tests {
			pkg, name, _ := strings.Cut(t, " ")
			if packages[pkg] == nil {
				packages[pkg] = map[string]bool{}
			}
			packages[pkg][name] = true
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		fmt.Fprintln(out, "trying", pkg)
		if err := p.build(ctx, binaryOf(pkg), "test", "-c", "-trimpath", "./"+pkg); err != nil {
			return err
		}
		for _, user := range users {
			if user == "user" && len(users) > 1 && pkg == asksGo {
				continue
			}
			if err := p.try(ctx, user, pkg, slices.Sorted(maps.Keys(packages[pkg]))); err != nil {
				return err
			}
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "#\tattack\texpected\t"+strings.Join(users, "\t"))
	for _, a := range all {
		what := []rune(a.what)
		if len(what) > 60 {
			what = append(what[:59], '…')
		}
		fmt.Fprintf(w, "%s\t%s\t%s", a.number, string(what), a.result)
		for _, user := range users {
			fmt.Fprintf(w, "\t%s", p.of(user, a.tests))
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if p.failed.Len() > 0 {
		return errors.New("not all attacks fail:\n" + p.failed.String())
	}
	return nil
}

// binaryOf is the name of the test binary of a package.
func binaryOf(pkg string) string { return strings.ReplaceAll(pkg, "/", "_") + ".test" }

// proof are the results so far.
type proof struct {
	dir     string
	engine  string            // for the ordinary user; "" if there is none
	results map[string]string // by user, package and test
	failed  bytes.Buffer
}

func (p *proof) build(ctx context.Context, name string, args ...string) error {
	target := args[len(args)-1]
	args = append(args[:len(args)-1:len(args)-1], "-o", filepath.Join(p.dir, name), target)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", target, err, out)
	}
	return nil
}

// copySources copies git's files of the repository, for the ordinary user's tests:
// some make files beside them.
func (p *proof) copySources(ctx context.Context) error {
	sources := filepath.Join(p.dir, "src")
	if err := os.Mkdir(sources, 0o755); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "git", "checkout-index", "--all", "--prefix="+sources+"/").CombinedOutput()
	if err != nil {
		return fmt.Errorf("copy the sources: %w\n%s", err, out)
	}
	if os.Getuid() != 0 {
		return nil
	}
	return filepath.WalkDir(sources, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
}

var verdict = regexp.MustCompile(`(?m)^( *)--- (PASS|FAIL|SKIP): (\S+) .*\n(?: +\S+\.go:\d+: (.*))?`)

// try runs tests of a package as a user.
func (p *proof) try(ctx context.Context, user, pkg string, names []string) error {
	home, err := os.MkdirTemp(p.dir, user)
	if err != nil {
		return err
	}
	temporary := filepath.Join(home, "tmp")
	if err := os.Mkdir(temporary, 0o755); err != nil {
		return err
	}
	var patterns []string
	var whole []string
	for _, name := range names {
		if test, part, ok := strings.Cut(name, "/"); ok {
			patterns = append(patterns, "^"+test+"$/^"+part+"$")
		} else {
			whole = append(whole, name)
		}
	}
	if len(whole) > 0 {
		patterns = append(patterns, "^("+strings.Join(whole, "|")+")$")
	}
	for _, pattern := range patterns {
		ctx, cancel := context.WithTimeout(ctx, longest)
		cmd := exec.CommandContext(ctx, filepath.Join(p.dir, binaryOf(pkg)), "-test.v", "-test.count=1", "-test.run", pattern)
		cmd.Dir = pkg
		cmd.Env = append(os.Environ(), "DEFT_BIN="+filepath.Join(p.dir, "deft"))
		if user == "user" && os.Getuid() == 0 {
			for _, dir := range []string{home, temporary} {
				if err := os.Chown(dir, nobody, nobody); err != nil {
					cancel()
					return err
				}
			}
			cmd.Env = []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + temporary, "CI=" + os.Getenv("CI"),
				"DEFT_BIN=" + filepath.Join(p.dir, "deft"), "DEFT_TEST_USER=1", "DEFT_TEST_DOCKER=" + p.engine,
			}
			cmd.Dir = filepath.Join(p.dir, "src", pkg)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		out, err := cmd.CombinedOutput()
		cancel()
		found := false
		for _, m := range verdict.FindAllStringSubmatch(string(out), -1) {
			name := strings.TrimSpace(m[3])
			if !slices.Contains(names, name) {
				continue
			}
			found = true
			result := strings.ToLower(m[2])
			if m[2] == "SKIP" {
				result += ": " + m[4]
			}
			p.results[user+" "+pkg+" "+name] = result
		}
		if err != nil || !found {
			fmt.Fprintf(&p.failed, "%s as %s: %v\n%s\n", pkg, user, err, out)
		}
	}
	return nil
}

// of is the result of the tests of an attack for a user.
func (p *proof) of(user string, tests []string) string {
	if len(tests) == 1 && strings.HasPrefix(tests[0], asksGo+" ") && user == "user" && os.Getuid() == 0 {
		return "the same for all"
	}
	passed := 0
	for _, t := range tests {
		switch r := p.results[user+" "+t]; {
		case r == "pass":
			passed++
		case strings.HasPrefix(r, "skip"):
		default:
			return "FAILED: " + t
		}
	}
	if passed == 0 {
		return p.results[user+" "+tests[0]]
	}
	return "as expected"
}
