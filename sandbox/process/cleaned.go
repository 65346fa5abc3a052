package process

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"

	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/sandbox/internal/repository"
)

// maxConfig bounds the configuration files that are shown without credentials; a
// longer one is not shown.
const maxConfig = 256 << 10

// credential finds names or values of a configuration that look like a credential:
// a password, or a user of a web address, which may be a token.
var credential = lazyregexp.New(`(?i)https?://[^/\s"']*@|://[^/\s"'@]*:[^/\s"']*@|token|pass|secret|credential|auth|cookie|bearer|private|api.?key|gh[a-z]_\w{20}|glpat-|AKIA|[?&]\w*(key|sig)=`)

// gitInclude finds a section by which a configuration of git includes others, which are
// hidden inside.
var gitInclude = lazyregexp.New(`(?im)^\s*\[include`)

// cleanedFiles returns the configurations of git and cargo in a home, and of
// repositories in toolchains and granted directories, that hold credentials, and the
// configurations of package managers, and of git if they include others: with the
// content to show instead. Empty content means that there is nothing to show, or that
// it could not be understood.
func cleanedFiles(home, workspace string, readable []string) map[string]string {
	cleaners := map[string]func([]byte) ([]byte, error){}
	repositories := slices.Clone(readable)
	including := map[string]bool{}
	if home != "" {
		for _, name := range []string{".gitconfig", ".config/git/config"} {
			path := filepath.Join(home, name)
			cleaners[path] = cleanGit
			if raw, err := readConfig(path); err == nil && gitInclude().Match(raw) {
				including[path] = true
				cleaners[path] = func(raw []byte) ([]byte, error) {
					clean, err := cleanGit(raw)
					return append(clean, repository.Identity(home, workspace)...), err
				}
			}
		}
		for _, name := range []string{".cargo/config.toml", ".cargo/config"} {
			cleaners[filepath.Join(home, name)] = cleanTOML
		}
		for _, name := range homeShown {
			repositories = append(repositories, filepath.Join(home, name))
		}
		for _, pattern := range []string{".asdf/plugins/*", ".cargo/registry/index/*", ".pyenv/plugins/*", ".rbenv/plugins/*", ".julia/registries/*"} {
			dirs, _ := filepath.Glob(filepath.Join(home, pattern)) // the pattern is well formed
			repositories = append(repositories, dirs...)
		}
	}
	for _, dir := range repositories {
		cleaners[filepath.Join(dir, ".git/config")] = cleanGit
	}
	hidden := map[string]func([]byte) ([]byte, error){}
	if home != "" {
		hidden = registryFiles(home)
		maps.Copy(cleaners, hidden)
	}
	out := map[string]string{}
	for path, clean := range cleaners {
		raw, err := readConfig(path)
		if err != nil && errors.Is(err, os.ErrNotExist) {
			continue
		}
		name := path
		path = resolve(path)
		if err == nil && hidden[name] == nil && !including[name] && !credential().Match(raw) {
			continue // shown as it is
		}
		var shown []byte
		if err == nil {
			shown, err = clean(raw)
		}
		if err != nil {
			shown = nil
		}
		out[path] = string(shown)
		if hidden[name] != nil && name != path && len(shown) > 0 && !inShown(home, name) {
			out[name] = string(shown) // the link to it is hidden too
		}
	}
	return out
}

// inShown reports whether a path lies in a part of the home that is shown.
func inShown(home, path string) bool {
	return slices.ContainsFunc(homeShown, func(rel string) bool { return within(path, filepath.Join(home, rel)) })
}

func readConfig(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, syscall.ENOTDIR) {
			err = os.ErrNotExist
		}
		return nil, err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() || fi.Size() > maxConfig {
		return nil, errors.New("not a short regular file")
	}
	return io.ReadAll(io.LimitReader(f, maxConfig))
}

// gitSections are the sections of git's configuration that are shown; others are
// for programs with credentials, or unknown.
var gitSections = []string{
	"advice", "am", "apply", "branch", "clone", "color", "column", "commit", "core", "diff", "extensions", "fetch", "format",
	"gc", "grep", "help", "index", "init", "interactive", "lfs", "log", "merge", "mergetool", "notes", "pack", "pager", "pull",
	"push", "rebase", "receive", "remote", "rerere", "safe", "status", "submodule", "tag", "tar", "url", "user", "versionsort",
}

// gitHeader matches the start of a section, git-config(1): a name, perhaps with a
// subsection, perhaps followed by a first variable.
var gitHeader = lazyregexp.New(`^\s*\[([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\](.*)$`)

// cleanGit removes sections that are not in gitSections, and all that looks
// like a credential.
func cleanGit(raw []byte) ([]byte, error) {
	var out bytes.Buffer
	keep := false
	for _, line := range logicalLines(string(raw)) {
		if m := gitHeader().FindStringSubmatch(line); m != nil {
			section, _, _ := strings.Cut(strings.ToLower(m[1]), ".")
			if keep = slices.Contains(gitSections, section) && !credential().MatchString(m[1]+m[2]); !keep {
				continue
			}
			if credential().MatchString(m[3]) {
				line = strings.TrimSuffix(line, m[3])
			}
			out.WriteString(line + "\n")
			continue
		}
		comment := strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") || strings.HasPrefix(strings.TrimLeft(line, " \t"), ";")
		if keep && !comment && !credential().MatchString(line) {
			out.WriteString(line + "\n")
		}
	}
	return out.Bytes(), nil
}

// logicalLines splits a text into lines; one that ends in a backslash goes on.
func logicalLines(text string) []string {
	var all []string
	open := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if open {
			all[len(all)-1] += "\n" + line
		} else {
			all = append(all, line)
		}
		trailing := len(line) - len(strings.TrimRight(line, `\`))
		open = trailing%2 == 1
	}
	return all
}

// cleanTOML removes keys and values that look like a credential.
func cleanTOML(raw []byte) ([]byte, error) {
	var doc map[string]any
	if err := toml.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	return toml.Marshal(withoutCredentials(doc))
}

// withoutCredentials returns a value without them, or nil if it is one.
func withoutCredentials(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if v[name] = withoutCredentials(value); v[name] == nil || credential().MatchString(name) {
				delete(v, name)
			}
		}
		return v
	case []map[string]any:
		for i := range v {
			withoutCredentials(v[i])
		}
		return v
	case []any:
		if slices.ContainsFunc(v, func(one any) bool { return withoutCredentials(one) == nil }) {
			return nil
		}
		return v
	case string:
		if credential().MatchString(v) {
			return nil
		}
	}
	return v
}
