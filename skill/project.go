package skill

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// projectDirs hold the skills of a project, most important first.
var projectDirs = []string{".agents/skills", ".openhands/skills", ".openhands/microagents", ".claude/skills"}

// LoadProject loads a project's instructions to agents: AGENTS.md and its like,
// the ones in sub-directories as rules for the files below, and the skills in
// .agents/skills, .openhands/skills, .openhands/microagents and .claude/skills. If the directory
// lies inside a Git repository, the repository's root adds its instructions where
// the directory itself has none of that name. A missing directory has none.
func LoadProject(dir string) ([]Skill, []Warning) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, []Warning{{dir, err}}
	}
	var loaders []*loader
	var warnings []Warning
	for _, root := range Roots(dir) {
		r, err := os.OpenRoot(root)
		if err != nil {
			if !os.IsNotExist(err) {
				warnings = append(warnings, Warning{root, err})
			}
			continue
		}
		defer r.Close()
		loaders = append(loaders, &loader{fsys: r.FS(), at: root, strict: true, seen: map[string]bool{}})
	}
	var skills []Skill
	collect := func(load func(*loader)) {
		for _, l := range loaders {
			load(l)
			skills = Merge(skills, l.skills)
		}
	}
	collect((*loader).instructions)
	if len(loaders) > 0 && loaders[0].at == dir {
		loaders[0].nested()
		skills = Merge(skills, loaders[0].skills)
	}
	collect(func(l *loader) {
		for _, d := range projectDirs {
			l.directory(d)
		}
	})
	for _, l := range loaders {
		warnings = append(warnings, l.warnings...)
	}
	return skills, warnings
}

// Roots returns the directory and, if another, the root of its repository: the
// places of a project's files.
func Roots(dir string) []string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			if at == dir {
				return []string{dir}
			}
			return []string{dir, at}
		}
		if at == filepath.Dir(at) {
			return []string{dir}
		}
	}
}

// instructions loads the files of the root that other programs know as well.
// A file or a text with several names counts once.
func (l *loader) instructions() {
	var seen []fs.FileInfo
	texts := map[string]bool{}
	for _, e := range l.list(".") {
		if thirdParty[strings.ToLower(e.Name())] == "" {
			continue
		}
		info, err := fs.Stat(l.fsys, e.Name())
		switch {
		case err != nil:
			l.warn(e.Name(), err)
			continue
		case !info.Mode().IsRegular():
			l.warn(e.Name(), fault.New(fault.Invalid, "not a regular file"))
			continue
		case slices.ContainsFunc(seen, func(o fs.FileInfo) bool { return os.SameFile(o, info) }):
			continue
		}
		seen = append(seen, info)
		if s, ok := l.load(e.Name(), ""); ok && !texts[s.Content] {
			texts[s.Content] = true
			l.add(s)
		}
	}
}

// nested turns the AGENTS.md of sub-directories into rules for the files there, in
// the order of the directories. Hidden directories and directories of packages are
// left out. The walk goes level by level, so that of a tree that is too large the
// upper part is read.
func (l *loader) nested() {
	var files []string
	level := []string{"."}
	for depth := 0; len(level) > 0 && depth <= maxDepth; depth++ {
		var next []string
		for _, dir := range level {
			for _, e := range l.list(dir) {
				name := path.Join(dir, e.Name())
				switch {
				case e.IsDir():
					if !strings.HasPrefix(e.Name(), ".") && e.Name() != "node_modules" && e.Name() != "vendor" {
						next = append(next, name)
					}
				case dir != "." && e.Name() != instructions && e.Type().IsRegular() && thirdParty[strings.ToLower(e.Name())] != "":
					files = append(files, name)
				}
			}
			if l.full {
				next = nil
				break
			}
		}
		level = next
	}
	l.entries, l.full = 0, false // the next part has its own allowance
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(path.Dir(a), path.Dir(b)) })
	for _, name := range files {
		if s, ok := l.load(name, ""); ok {
			dir := path.Dir(name)
			s.Name += ":" + dir
			s.Trigger = &Trigger{Type: Path, Words: []string{dir + "/**"}}
			s.settle()
			l.add(s)
		}
	}
}

// LoadRepository loads directories of skills below the root of a tree that is
// not the user's own, such as a clone; the earlier ones win. Links that lead
// out of the root are refused.
func LoadRepository(root string, dirs ...string) ([]Skill, []Warning) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, []Warning{{root, err}}
	}
	defer r.Close()
	l := &loader{fsys: r.FS(), at: root, strict: true, seen: map[string]bool{}}
	for _, dir := range dirs {
		l.directory(path.Clean(dir))
	}
	return l.skills, l.warnings
}

// LoadOrganisation loads the skills of an organisation's repository, whose root is the .openhands of
// the others (reference: load_org_skills).
func LoadOrganisation(root string) ([]Skill, []Warning) {
	return LoadRepository(root, "skills", "microagents")
}

// LoadPlugin loads the skills of a plugin's directory: those in skills/, which
// may have any name, in the order of their files, or else the SKILL.md at its
// root. Links that lead out of it are refused.
func LoadPlugin(root string) ([]Skill, []Warning) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, []Warning{{root, err}}
	}
	defer r.Close()
	l := &loader{fsys: r.FS(), at: root, flat: true, seen: map[string]bool{}}
	if _, err := r.Lstat("skills"); err == nil {
		l.directory("skills")
		slices.SortStableFunc(l.skills, func(a, b Skill) int { return strings.Compare(*a.Source, *b.Source) })
		return l.skills, l.warnings
	}
	if file := l.skillFile("."); file != "" {
		if s, ok := l.load(file, ""); ok {
			s.Resources = l.resources(".")
			l.add(s)
		}
	}
	return l.skills, l.warnings
}
