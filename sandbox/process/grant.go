package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/internal/repository"
	"github.com/deft-dev/deft/sandbox/process/internal/inside"
)

type grant = inside.Grant

// checkGrants refuses granted directories that are no directories, are reached by
// links, belong to the system or lie in hidden paths. The caller decides about
// homes and credentials; it knows the user.
func (p *Provider) checkGrants(s sandbox.Spec) error {
	hidden := slices.Concat([]string{p.opt.Dir}, p.opt.Hidden, s.Hidden, systemSecrets, []string{"/proc", "/sys", "/dev"})
	for _, g := range slices.Concat(s.Readable, s.Writable) {
		refuse := func(why string) error {
			return fault.New(fault.Invalid, "the granted directory "+g+" "+why).Hint("grant another one")
		}
		if !filepath.IsAbs(g) || g == "/" {
			return refuse("cannot be granted")
		}
		// It had no links when it was granted; one that came later leads elsewhere.
		if real, err := filepath.EvalSymlinks(g); err != nil || real != g {
			return refuse("is gone or has become a link")
		}
		if fi, err := os.Stat(g); err != nil || !fi.IsDir() {
			return refuse("is not a directory")
		}
		if slices.ContainsFunc(hidden, func(h string) bool { return within(g, resolve(h)) }) {
			return refuse("is hidden in every sandbox")
		}
	}
	return nil
}

// grants returns the paths that appear inside beside the workspace and the home's
// toolchains: the user's grants, the repository and further toolchains.
// Directories come before their content.
func (p *Provider) grants(s sandbox.Spec, covered []string) []grant {
	home := p.opt.Home
	all := map[string]bool{}
	for _, dir := range toolchains(p.opt.Env, home, covered) {
		all[dir] = false
	}
	if home != "" && !within(home, s.Workspace) {
		for _, name := range cachePrograms {
			if dir := resolve(filepath.Join(home, name)); exists(dir) {
				all[dir] = false
			}
		}
	}
	for _, target := range linkedToolchains(home, covered) {
		all[target] = false
	}
	for _, g := range repository.Grants(s.Workspace, home, s.Writable) {
		all[g.Path] = g.Writable
	}
	for _, dir := range s.Readable {
		if _, known := all[dir]; !known {
			all[dir] = false
		}
	}
	for _, dir := range s.Writable {
		all[dir] = true
	}
	delete(all, s.Workspace)
	out := make([]grant, 0, len(all))
	for path, writable := range all {
		out = append(out, grant{Path: path, Writable: writable})
	}
	slices.SortFunc(out, func(a, b grant) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// linkedToolchains returns the targets of links in the home, for example to a
// directory with the user's settings: the links themselves are shown.
func linkedToolchains(home string, covered []string) []string {
	if home == "" {
		return nil
	}
	var all []string
	shown, _ := splitHome(home)
	for _, name := range shown {
		link := filepath.Join(home, name)
		if fi, err := os.Lstat(link); err != nil || fi.Mode()&os.ModeSymlink == 0 {
			continue
		}
		target := resolve(link)
		closed := within(target, home) || slices.ContainsFunc(covered, func(dir string) bool { return within(target, dir) && target != dir })
		if closed && !within(home, target) && exists(target) {
			all = append(all, target)
		}
	}
	return all
}
