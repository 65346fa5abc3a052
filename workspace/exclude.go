package workspace

import (
	"path"
	"slices"
	"strings"
)

// excluded reports whether patterns exclude a path from an archive: a name matches
// at any depth, a pattern with a slash from the top, and one that ends with a slash
// directories only. It agrees with gitview.Pathspecs.
func excluded(rel string, patterns []string, dir bool) bool {
	parts := strings.Split(rel, "/")
	for _, raw := range patterns {
		pattern := strings.TrimRight(raw, "/")
		onlyDir := strings.HasSuffix(raw, "/")
		if !strings.Contains(pattern, "/") {
			names := parts
			if onlyDir && !dir {
				names = parts[:len(parts)-1]
			}
			if slices.ContainsFunc(names, func(name string) bool { return match(pattern, name) }) {
				return true
			}
			continue
		}
		wanted := strings.Split(pattern, "/")
		if len(parts) < len(wanted) || onlyDir && !dir && len(parts) == len(wanted) {
			continue
		}
		all := true
		for i, p := range wanted {
			all = all && match(p, parts[i])
		}
		if all {
			return true
		}
	}
	return false
}

// match matches one name against a shell pattern; a malformed one matches itself.
func match(pattern, name string) bool {
	p := strings.ReplaceAll(strings.ReplaceAll(pattern, `\`, `\\`), "[!", "[^")
	ok, err := path.Match(p, name)
	if err != nil {
		return pattern == name
	}
	return ok
}

// credentialFiles are files in a git directory that may contain a token.
var credentialFiles = []string{"config", "config.worktree", "credentials", ".git-credentials", "FETCH_HEAD"}

// holdsCredentials reports whether a path is such a file in a .git directory
// at any depth, a submodule's too; reflogs count.
func holdsCredentials(rel string) bool {
	parts := strings.Split(rel, "/")
	i := slices.Index(parts, ".git")
	if i < 0 || i == len(parts)-1 {
		return false
	}
	return slices.Contains(parts[i+1:], "logs") || slices.Contains(credentialFiles, parts[len(parts)-1])
}
