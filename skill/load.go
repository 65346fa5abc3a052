package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
)

// Limits on one directory.
const (
	maxFile      = 512 << 10 // bytes of one skill
	maxSkills    = 1000
	maxEntries   = 20000 // of directories walked
	maxDepth     = 12
	maxResources = 1000
)

// loader reads skills below one root. Links that lead out of the root are
// errors of the file system when it is an [os.Root].
type loader struct {
	fsys     fs.FS
	at       string // the root's path, for Source
	strict   bool
	flat     bool // files in sub-directories are no skills
	entries  int  // walked so far
	full     bool // too many were walked
	skills   []Skill
	seen     map[string]bool
	warnings []Warning
}

func (l *loader) warn(name string, err error) {
	if len(l.warnings) < maxSkills {
		l.warnings = append(l.warnings, Warning{l.path(name), err})
	}
}

func (l *loader) path(name string) string { return filepath.ToSlash(filepath.Join(l.at, name)) }

// add takes a skill unless there is one of its name.
func (l *loader) add(s Skill) {
	if !l.seen[s.Name] && len(l.skills) < maxSkills {
		l.seen[s.Name] = true
		l.skills = append(l.skills, s)
	}
}

// read returns the text of a regular file.
func (l *loader) read(name string) (string, error) {
	f, err := l.fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fault.New(fault.Invalid, "not a regular file")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxFile {
		return "", fault.New(fault.Limit, fmt.Sprintf("longer than %d bytes", maxFile))
	}
	text, ok := textfile.Prose(b)
	if !ok {
		return "", fault.New(fault.Invalid, "the file is not text")
	}
	return text, nil
}

// regular reports whether a name is a regular file, through links. Asking
// first avoids opening a FIFO.
func (l *loader) regular(name string) bool {
	info, err := fs.Stat(l.fsys, name)
	return err == nil && info.Mode().IsRegular()
}

// list returns the names in a directory, sorted; none when it is not there.
func (l *loader) list(dir string) []fs.DirEntry {
	entries, err := fs.ReadDir(l.fsys, dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			l.warn(dir, err)
		}
		return nil
	}
	if l.full {
		return nil
	}
	if l.entries += len(entries); l.entries > maxEntries {
		l.full = true
		l.warn(dir, fault.New(fault.Limit, fmt.Sprintf("the project has more than %d files, so skills and AGENTS.md files in directories from here on are not used; start in the directory you work on, or name them in the AGENTS.md at the root", maxEntries)))
		return nil
	}
	return entries
}

var errIrregular = fault.New(fault.Denied, "not a regular file inside the directory")

// isDir reports whether an entry is a directory, through links.
func (l *loader) isDir(dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := fs.Stat(l.fsys, path.Join(dir, e.Name()))
	return err == nil && info.IsDir()
}

// directory loads a directory of skills: name/SKILL.md, and any other *.md, in the
// reference's order: always-on, triggered, AgentSkills.
func (l *loader) directory(dir string, skip ...string) {
	var agent, always, triggered []Skill
	taken := slices.Clone(skip)
	for _, e := range l.list(dir) {
		sub := path.Join(dir, e.Name())
		if !l.isDir(dir, e) || slices.Contains(skip, sub) {
			if e.Type()&fs.ModeSymlink != 0 && path.Ext(sub) != ".md" && !l.regular(sub) {
				l.warn(sub, errIrregular)
			}
			continue
		}
		if file := l.skillFile(sub); file != "" {
			taken = append(taken, sub)
			if s, ok := l.load(file, ""); ok {
				s.Resources, s.MCPTools = l.resources(sub), l.servers(sub)
				agent = append(agent, s)
			}
		}
	}
	for _, file := range l.markdown(dir, taken, 0) {
		name := strings.TrimSuffix(strings.TrimPrefix(file, dir+"/"), path.Ext(file))
		s, ok := l.load(file, name)
		switch {
		case !ok:
		case s.Trigger == nil:
			always = append(always, s)
		default:
			triggered = append(triggered, s)
		}
	}
	for _, s := range slices.Concat(always, triggered, agent) {
		l.add(s)
	}
}

func (l *loader) load(file, name string) (Skill, bool) {
	text, err := l.read(file)
	if err == nil {
		var s Skill
		if s, err = Parse(l.path(file), name, text, l.strict); err == nil {
			return s, true
		}
	}
	l.warn(file, err)
	return Skill{}, false
}

// skillFile returns the SKILL.md of a directory, in any case, or "".
func (l *loader) skillFile(dir string) string {
	for _, e := range l.list(dir) {
		if !strings.EqualFold(e.Name(), "skill.md") {
			continue
		}
		file := path.Join(dir, e.Name())
		if l.regular(file) {
			return file
		}
		l.warn(file, errIrregular)
	}
	return ""
}

// markdown returns the *.md files below dir that are skills.
func (l *loader) markdown(dir string, taken []string, depth int) []string {
	var files []string
	for _, e := range l.list(dir) {
		name := path.Join(dir, e.Name())
		switch {
		case l.isDir(dir, e):
			// Links to directories are not followed: they may form a cycle.
			if depth < maxDepth && !l.flat && e.IsDir() && !slices.Contains(taken, name) {
				files = append(files, l.markdown(name, taken, depth+1)...)
			}
		case path.Ext(e.Name()) != ".md", e.Name() == "README.md", strings.EqualFold(e.Name(), "skill.md"):
		case l.regular(name):
			files = append(files, name)
		default:
			l.warn(name, errIrregular)
		}
	}
	return files
}

// resources lists the files beside a SKILL.md; nil for none.
func (l *loader) resources(dir string) *Resources {
	r := &Resources{Root: l.path(dir), Scripts: []string{}, References: []string{}, Assets: []string{}}
	found := false
	for _, kind := range []struct {
		name string
		to   *[]string
	}{{"scripts", &r.Scripts}, {"references", &r.References}, {"assets", &r.Assets}} {
		base := path.Join(dir, kind.name)
		err := fs.WalkDir(l.fsys, base, func(name string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return fs.SkipAll
			case len(*kind.to) == maxResources || strings.Count(name, "/") > strings.Count(base, "/")+maxDepth:
				return fs.SkipAll
			case e.Type().IsRegular():
				*kind.to = append(*kind.to, strings.TrimPrefix(name, base+"/"))
				found = true
			}
			return nil
		})
		if err != nil {
			l.warn(base, err)
		}
	}
	if !found {
		return nil
	}
	return r
}

// servers reads the .mcp.json of a skill: its servers by name, with
// ${SKILL_ROOT} in place. Other ${…} are expanded when the server is connected.
func (l *loader) servers(dir string) json.RawMessage {
	file := path.Join(dir, ".mcp.json")
	if !l.regular(file) {
		return nil
	}
	text, err := l.read(file)
	if err != nil {
		l.warn(file, err)
		return nil
	}
	root, err := json.Marshal(l.path(dir))
	if err != nil {
		l.warn(file, err)
		return nil
	}
	text = strings.ReplaceAll(text, "${SKILL_ROOT}", strings.Trim(string(root), `"`))
	var config struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		l.warn(file, fault.Wrap(err, fault.Invalid, "not an MCP configuration"))
		return nil
	}
	raw, err := json.Marshal(config.Servers)
	if err != nil || config.Servers == nil {
		return nil
	}
	return raw
}

// trusted returns a loader of a directory of the user's own, whose links are
// followed.
func trusted(dir string) *loader {
	return &loader{fsys: os.DirFS(dir), at: dir, strict: true, seen: map[string]bool{}}
}

// LoadOne loads the skill of a directory with a SKILL.md. An error of kind
// fault.Invalid says that it holds no valid one.
func LoadOne(dir string) (Skill, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Skill{}, fmt.Errorf("load a skill: %w", err)
	}
	return trusted(filepath.Dir(abs)).one(filepath.Base(abs))
}

// LoadIn loads the skill of a directory below the root of a tree that is not the user's own. It
// has the errors of [LoadOne]; links that lead out of the root are refused.
func LoadIn(root, dir string) (Skill, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return Skill{}, fault.Wrap(err, fault.Invalid, "read the skills of "+root)
	}
	defer r.Close()
	return (&loader{fsys: r.FS(), at: root, seen: map[string]bool{}}).one(path.Clean(dir))
}

// one loads the skill of a directory.
func (l *loader) one(dir string) (Skill, error) {
	file := l.skillFile(dir)
	if file == "" {
		return Skill{}, fault.New(fault.Invalid, "there is no SKILL.md in "+l.path(dir))
	}
	s, ok := l.load(file, "")
	if !ok {
		return Skill{}, fault.Wrap(l.warnings[len(l.warnings)-1].Err, fault.Invalid, "the SKILL.md is not valid")
	}
	s.Resources, s.MCPTools = l.resources(dir), l.servers(dir)
	return s, nil
}

// UserDirs returns the directories of a user's skills, most important first. Claude Code's
// directory is one of them, as in a project.
// persistence is OH_PERSISTENCE_DIR, or ~/.openhands.
func UserDirs(home, persistence string) []string {
	return []string{
		filepath.Join(home, ".agents", "skills"),
		filepath.Join(persistence, "skills"),
		filepath.Join(persistence, "microagents"),
		filepath.Join(home, ".claude", "skills"),
	}
}

// LoadUser loads the skills of directories, the earlier ones winning, and then
// those that are installed below any of them, in "installed".
func LoadUser(dirs []string) ([]Skill, []Warning) {
	var skills []Skill
	var warnings []Warning
	for _, dir := range dirs {
		l := trusted(dir)
		l.directory(".", "installed")
		skills = Merge(skills, l.skills)
		warnings = append(warnings, l.warnings...)
	}
	for _, dir := range dirs {
		installed, more := loadInstalled(filepath.Join(dir, "installed"))
		skills = Merge(skills, installed)
		warnings = append(warnings, more...)
	}
	return skills, warnings
}

// InstalledFile records, in a directory of installed things, which they are
// and whether they are enabled.
const InstalledFile = ".installed.json"

func loadInstalled(dir string) ([]Skill, []Warning) {
	l := trusted(dir)
	disabled := map[string]bool{}
	if l.regular(InstalledFile) {
		text, err := l.read(InstalledFile)
		var record struct {
			Extensions map[string]struct {
				Enabled *bool `json:"enabled"`
			} `json:"extensions"`
		}
		if err == nil {
			err = json.Unmarshal([]byte(text), &record)
		}
		if err != nil {
			l.warn(InstalledFile, err)
		}
		for name, e := range record.Extensions {
			disabled[name] = e.Enabled != nil && !*e.Enabled
		}
	}
	for _, e := range l.list(".") {
		if !l.isDir(".", e) || strings.HasPrefix(e.Name(), ".") || disabled[e.Name()] {
			continue
		}
		s, err := LoadOne(filepath.Join(dir, e.Name()))
		if err != nil {
			l.warn(e.Name(), err)
			continue
		}
		l.add(s)
	}
	return l.skills, l.warnings
}
