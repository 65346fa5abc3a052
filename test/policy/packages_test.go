// Package policy holds the rules of the project that a compiler does not check:
// which package may import which, the comment of every package, how large files
// are, and that the documents name existing things.
//
// # Usage
//
//	go test ./test/policy
//
// It asks the go command and reads files; nothing of the program is linked,
// so it takes about a second and runs before every commit (make check).
//
// # Concurrency and failure
//
// The tests run in parallel and only read. Each failure names the file or the
// import and the rule.
package policy_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

const module = "github.com/deft-dev/deft"

// root is the top of the repository, seen from this folder.
const root = "../.."

// pkg has the facts of a package that the rules need. Import paths are relative to
// the module; imports of other modules are left out.
type pkg struct {
	Path    string
	Imports []string // of the program
	Tests   []string // of its tests only
	HTTP    bool     // whether the program imports net/http
}

// list asks the go command for all packages, once.
var list = sync.OnceValues(func() ([]pkg, error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, pkg{
			Path: ours([]string{p.ImportPath})[0], Imports: ours(p.Imports), HTTP: slices.Contains(p.Imports, "net/http"),
			Tests: append(ours(p.TestImports), ours(p.XTestImports)...),
		})
	}
})

// ours keeps the paths of this module and makes them relative.
func ours(paths []string) []string {
	var out []string
	for _, p := range paths {
		if rel, ok := strings.CutPrefix(p, module+"/"); ok {
			out = append(out, rel)
		}
	}
	return out
}

func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := list()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	if len(all) == 0 {
		t.Fatal("go list reports no packages")
	}
	return all
}

// notOurs are folders that the rules do not reach into: output of tools, and data
// of tests.
var notOurs = map[string]bool{
	".git": true, "bin": true, "dist": true, "node_modules": true, "testdata": true,
	".venv": true, "__pycache__": true, "generated": true,
}

// files returns the repository's files with one of the given endings, as
// slash-separated paths from its top.
func files(t *testing.T, endings ...string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if notOurs[d.Name()] {
				return fs.SkipDir
			}
			return nil
		}
		for _, end := range endings {
			if strings.HasSuffix(path, end) {
				rel, err := filepath.Rel(root, path)
				if err != nil {
					return err
				}
				found = append(found, filepath.ToSlash(rel))
				break
			}
		}
		return nil
	})
	must.Succeed(t, err)
	if len(found) == 0 {
		t.Fatalf("no file ends in %v", endings)
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	must.Succeed(t, err)
	return string(b)
}
