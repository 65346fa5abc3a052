package gitview

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/deft-dev/deft/internal/realpath"
)

// ErrNoRepository says that a path is in no git repository.
var ErrNoRepository = errors.New("not a git repository")

// View shows one repository without its configuration.
type View struct {
	// Dir is the given directory, Top the working tree around it; both without
	// links.
	Dir, Top string

	scope  Scope
	read   []*os.File // the files that git may read, unless the scope is everything
	write  *os.File   // dir
	real   string     // the repository's git directory
	common string     // the same, or the main working tree's
	dir    string     // our git directory
	sha256 bool
	branch string // "" when HEAD is detached
}

// Open finds the repository around a directory.
func Open(path string) (*View, error) { return Scope{}.Open(path) }

// Open finds the repository around a directory.
func (s Scope) Open(path string) (*View, error) {
	if strings.ContainsRune(path, 0) {
		return nil, ErrNoRepository
	}
	dir := realpath.Resolve(path)
	if st, err := s.stat(dir); err != nil || !st.IsDir() || !s.shows(dir) {
		return nil, fmt.Errorf("%w: %s", ErrNoRepository, dir)
	}
	for top := dir; ; top = filepath.Dir(top) {
		if real, common, ok := s.gitDir(top); ok {
			return s.view(dir, top, real, common)
		}
		if top == filepath.Dir(top) {
			return nil, fmt.Errorf("%w: %s", ErrNoRepository, dir)
		}
	}
}

// view makes the view of a repository that was found.
func (s Scope) view(dir, top, real, common string) (*View, error) {
	v := &View{Dir: dir, Top: top, scope: s, real: real, common: common}
	head, _, _ := strings.Cut(s.readSmall(filepath.Join(real, "HEAD")), "\n")
	if ref, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
		v.branch = strings.TrimSpace(ref)
	}
	v.sha256 = hasSHA256(s.readSmall(filepath.Join(v.common, "config")))
	tmp, err := os.MkdirTemp("", "deft-git-")
	if err != nil {
		return nil, fmt.Errorf("make a view of a repository: %w", err)
	}
	v.dir = tmp
	if err = v.fill(head + "\n"); err == nil {
		v.read, err = v.readable()
	}
	if err == nil {
		v.write, err = os.Open(v.dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a view of a repository: %w", err), v.Close())
	}
	return v, nil
}

// hasSHA256 reports whether a configuration sets objectFormat to sha256.
func hasSHA256(config string) bool {
	for line := range strings.Lines(strings.ToLower(config)) {
		name, value, _ := strings.Cut(line, "=")
		if strings.TrimSpace(name) == "objectformat" && strings.Trim(strings.TrimSpace(value), `"`) == "sha256" {
			return true
		}
	}
	return false
}

// perTree are the parts of a git directory that each working tree has; shared are
// the main one's.
var (
	perTree = []string{"index"}
	shared  = []string{"objects", "refs", "packed-refs", "reftable", "shallow"}
)

func (v *View) fill(head string) error {
	links := map[string]string{}
	for _, name := range perTree {
		links[name] = filepath.Join(v.real, name)
	}
	for _, name := range shared {
		links[name] = filepath.Join(v.common, name)
	}
	parts, err := filepath.Glob(filepath.Join(escapeGlob(v.real), "sharedindex.*"))
	if err != nil {
		return err
	}
	for _, p := range parts {
		links[filepath.Base(p)] = p
	}
	links["info/exclude"] = filepath.Join(v.common, "info/exclude")
	if err := os.Mkdir(filepath.Join(v.dir, "info"), 0o700); err != nil {
		return err
	}
	for name, to := range links {
		if _, err := os.Lstat(to); err != nil {
			continue // not every repository has every part
		}
		if err := os.Symlink(to, filepath.Join(v.dir, name)); err != nil {
			return err
		}
	}
	// Git refuses a HEAD that is a link to a file.
	for name, text := range map[string]string{"HEAD": head, "config": v.config()} {
		if err := os.WriteFile(filepath.Join(v.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// escapeGlob returns the pattern that matches only path.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// config is the configuration that git reads.
func (v *View) config() string {
	text := `[core]
	bare = false
	fsmonitor = false
	hooksPath = /dev/null
	attributesFile = /dev/null
	pager = cat
	quotePath = false
[diff]
	ignoreSubmodules = dirty
[submodule]
	recurse = false
[protocol]
	allow = never
[gc]
	auto = 0
[maintenance]
	auto = false
`
	var extensions string
	if v.sha256 {
		extensions += "\tobjectFormat = sha256\n"
	}
	if _, err := os.Lstat(filepath.Join(v.dir, "reftable")); err == nil {
		extensions += "\trefStorage = reftable\n"
	}
	if file := ignored(); file != "" {
		text += "[core]\n\texcludesFile = \"" + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(file) + "\"\n"
	}
	if extensions == "" {
		return text
	}
	return text + "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n" + extensions
}

// ignored is the user's own list of ignored files, the only setting that is read
// from the user's configuration; "" if there is none.
var ignored = sync.OnceValue(func() string {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "config", "--global", "--path", "--get", "core.excludesFile")
	cmd.Dir = "/" // in no repository
	out, err := cmd.Output()
	if err != nil { // it is not set
		return ""
	}
	return strings.TrimSuffix(string(out), "\n")
})

// Close removes the files of Open.
func (v *View) Close() error {
	for _, f := range append(v.read, v.write) {
		_ = f.Close() // they were only read
	}
	if err := os.RemoveAll(v.dir); err != nil {
		return fmt.Errorf("remove the view of a repository: %w", err)
	}
	return nil
}

// emptyTree is the name of a tree without files.
func (v *View) emptyTree() string {
	if v.sha256 {
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	}
	return "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
}
