package gitview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// deltaLimit is how long making a patch may take.
const deltaLimit = 5 * time.Minute

// Delta writes a patch of all files in the directory of the view, tracked or not,
// that differ from a base, without ignored files and those that match excludes (see
// [Pathspecs]). It returns the commit that the patch applies to, or "" for the empty
// tree. Its index and objects are temporary, so the repository does not change. An error of check,
// which gets the name of each file before Git reads one, ends it.
func (v *View) Delta(ctx context.Context, ref string, excludes []string, check func(name string) error, w io.Writer) (base string, err error) {
	base, err = v.exportBase(ctx, ref)
	if err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp(v.dir, "scratch-")
	if err != nil {
		return "", fmt.Errorf("make a patch: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	objects := filepath.Join(scratch, "objects")
	if err := os.Mkdir(objects, 0o700); err != nil {
		return "", fmt.Errorf("make a patch: %w", err)
	}
	c := call{limit: deltaLimit, env: []string{
		"GIT_INDEX_FILE=" + filepath.Join(scratch, "index"), "GIT_OBJECT_DIRECTORY=" + objects,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoteAlternate(filepath.Join(v.common, "objects")),
	}}
	if _, err := v.git(ctx, c, "read-tree", base); err != nil {
		return "", err
	}
	specs := append([]string{"--", "."}, Pathspecs(excludes)...)
	c.out = &names{take: check}
	if _, err := v.git(ctx, c, append([]string{"ls-files", "-z", "--cached", "--others", "--exclude-standard"}, specs...)...); err != nil {
		return "", err
	}
	c.out = nil
	if _, err := v.git(ctx, c, append([]string{"add", "-A"}, specs...)...); err != nil {
		return "", err
	}
	c.out = w
	args := append(diffArgs("--find-renames", "--binary", "--cached", base), specs...)
	if _, err := v.git(ctx, c, args...); err != nil {
		return "", err
	}
	if base == v.emptyTree() {
		return "", nil
	}
	return base, nil
}

// names hands out names that end with a zero byte.
type names struct {
	take func(name string) error
	rest []byte // of a name that is not complete
}

func (n *names) Write(p []byte) (int, error) {
	n.rest = append(n.rest, p...)
	for {
		name, rest, whole := bytes.Cut(n.rest, []byte{0})
		if !whole {
			return len(p), nil
		}
		if err := n.take(string(name)); err != nil {
			return 0, err
		}
		n.rest = rest
	}
}

// quoteAlternate writes a path for a list that is separated by colons.
func quoteAlternate(path string) string {
	if !strings.ContainsAny(path, ":\"\\\n") {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// Pathspecs turns the excludes of an archive into git's: a name matches at any depth,
// a pattern with a slash from the top, and one that ends with a slash directories
// only.
func Pathspecs(excludes []string) []string {
	var specs []string
	for _, raw := range excludes {
		pattern := strings.TrimRight(raw, "/")
		if pattern == "" || strings.ContainsRune(pattern, 0) {
			continue
		}
		prefix := ":(glob,exclude)"
		if !strings.Contains(pattern, "/") {
			prefix += "**/"
		}
		if !strings.HasSuffix(raw, "/") {
			specs = append(specs, prefix+pattern)
		}
		specs = append(specs, prefix+pattern+"/**")
	}
	return specs
}
