// Command generate writes the licences of Deft, of Go and of the modules that are
// linked into cmd/deft, from the module cache. It is run in the repository:
//
//	go run ./internal/licenses/generate -o internal/licenses/LICENSES.txt
//
// A module without a licence is an error.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// platforms are the targets of releases, which may link different modules.
var platforms = []string{"linux/amd64", "linux/arm64"}

// licence matches the names of files with licences and notices.
var licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|unlicense)(-[a-z0-9-]+)?(\.txt|\.md)?$`)

func main() {
	out := flag.String("o", "", "the file to write (default: standard output)")
	flag.Parse()
	if err := run(context.Background(), *out); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) error {
	modules, err := linked(ctx)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := write(&b, modules); err != nil {
		return err
	}
	if out == "" {
		_, err := os.Stdout.Write(b.Bytes())
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}

// module is a linked module.
type module struct {
	Path, Version, Dir string
	Main               bool
}

func (m module) String() string { return strings.TrimSpace(m.Path + " " + m.Version) }

// linked returns Deft, Go, and the modules that cmd/deft links, sorted.
func linked(ctx context.Context) ([]module, error) {
	found := map[string]module{}
	for _, p := range platforms {
		system, arch, _ := strings.Cut(p, "/")
		cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Module", "github.com/deft-dev/deft/cmd/deft")
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		raw, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("list the modules of %s: %w", p, err)
		}
		for d := json.NewDecoder(bytes.NewReader(raw)); ; {
			var pkg struct{ Module *module }
			if err := d.Decode(&pkg); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if pkg.Module != nil {
				found[pkg.Module.Path] = *pkg.Module
			}
		}
	}
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find Go: %w", err)
	}
	all := []module{{Path: "Go", Dir: strings.TrimSpace(string(root))}}
	for _, m := range found {
		if m.Main {
			m.Version = "" // it differs with each commit
			m.Path = "Deft"
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b module) int {
		if a.Main != b.Main {
			if a.Main {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Path, b.Path)
	})
	return all, nil
}

// write writes each text once, below the modules that it applies to.
func write(w io.Writer, modules []module) error {
	var texts []string // in the order of their first modules
	users := map[string][]string{}
	for _, m := range modules {
		names, err := licences(m.Dir)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return fmt.Errorf("%s has no licence in %s", m, m.Dir)
		}
		for _, name := range names {
			b, err := os.ReadFile(filepath.Join(m.Dir, name))
			if err != nil {
				return err
			}
			text := strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", "\n"))
			if users[text] == nil {
				texts = append(texts, text)
			}
			users[text] = append(users[text], m.String()+" ("+name+")")
		}
	}
	line := strings.Repeat("=", 80)
	for _, text := range texts {
		if _, err := fmt.Fprintf(w, "%s\n%s\n%s\n\n%s\n\n", line, strings.Join(users[text], "\n"), line, text); err != nil {
			return err
		}
	}
	return nil
}

// licences are the names of a module's files with licences and notices, sorted.
func licences(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && licence.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
