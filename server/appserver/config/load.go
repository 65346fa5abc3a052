package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/tomlfile"
	"github.com/deft-dev/deft/sandbox"
)

// Sources are where a configuration is read from.
type Sources struct {
	Environ []string // "NAME=value"
	Flags   Flags
	// Data is the value of the flag --data, which may come from DEFT_DATA; DefaultData is
	// the directory without one.
	Data, DefaultData string
	// Classes are the registered classes of sandboxes. Required.
	Classes sandbox.Classes
	// Root stands for "/" in the path of the machine's file; it is for tests.
	Root string
}

// Report says how a configuration came about.
type Report struct {
	Values   []Value  // in the order of [Settings]
	Files    []string // that were read, in their order
	Warnings []string // for the operator, without values
}

// Value is a setting with its value.
type Value struct {
	Setting Setting
	// Text is in the form of a variable; for a secret it is "[set]".
	Text   string
	Source Source
}

// loader puts the sources one over the other.
type loader struct {
	Sources

	vars    map[string]string
	config  *Config
	from    map[string]Source // by key
	layer   map[string]int    // number of the source that set a key
	current int
	report  *Report
	errs    []error
}

// Load returns the configuration that the sources make, and where each value comes from.
// The report is there even if there is an error.
func Load(s Sources) (*Config, *Report, error) {
	l := newLoader(s)
	l.defaults()
	for _, name := range l.machineFiles() {
		l.file(name, true)
	}
	if s.Flags.Config != "" {
		l.file(s.Flags.Config, false)
	}
	if s.Flags.OpenHandsConfig != "" {
		l.openHandsFile(s.Flags.OpenHandsConfig)
	}
	l.openHandsEnvironment()
	l.keycloak()
	l.variables()
	l.flags()
	return l.finish()
}

func newLoader(s Sources) *loader {
	l := &loader{
		Sources: s, vars: map[string]string{}, config: &Config{},
		from: map[string]Source{}, layer: map[string]int{}, report: &Report{},
	}
	for _, kv := range s.Environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			l.vars[name] = value
		}
	}
	return l
}

// finish checks the loaded settings, and reports them.
func (l *loader) finish() (*Config, *Report, error) {
	l.check()
	for _, setting := range Settings() {
		v := reflect.ValueOf(l.config).Elem().FieldByIndex(setting.index)
		l.report.Values = append(l.report.Values, Value{Setting: setting, Text: format(setting, v), Source: l.from[setting.Key]})
	}
	slices.Sort(l.report.Warnings)
	l.config.files = l.report.Files
	if len(l.errs) > 0 {
		return nil, l.report, joined(l.errs)
	}
	return l.config, l.report, nil
}

// joined makes one error of several, with the hint of the first.
func joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	var all []string
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return fault.New(fault.Invalid, strings.Join(all, "\n")).Hint(fault.HintOf(errs[0]))
}

func (l *loader) env(name string) string { return l.vars[name] }

func (l *loader) fail(err error)      { l.errs = append(l.errs, err) }
func (l *loader) warn(warning string) { l.report.Warnings = append(l.report.Warnings, warning) }

// setting returns the description of a key.
func setting(key string) (Setting, bool) {
	all := Settings()
	i := slices.IndexFunc(all, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		return Setting{}, false
	}
	return all[i], true
}

// set sets a setting. Relative paths start in dir.
func (l *loader) set(s Setting, value any, from Source, dir string) {
	d := decoder{setting: s, source: from, dir: dir, env: l.env}
	if err := d.into(reflect.ValueOf(l.config).Elem().FieldByIndex(s.index), value); err != nil {
		l.fail(err)
		return
	}
	l.from[s.Key], l.layer[s.Key] = from, l.current
}

func (l *loader) defaults() {
	for _, s := range Settings() {
		l.from[s.Key] = Source{Kind: FromDefault}
		if s.Default != "" {
			l.set(s, s.Default, Source{Kind: FromDefault}, "")
		}
	}
	l.config.Data = l.DefaultData
}

// machineFiles are the files that are read if they exist.
func (l *loader) machineFiles() []string {
	files := []string{filepath.Join("/", l.Root, "etc", "deft", "deft.toml")}
	base := l.env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) { // the specification ignores relative ones
		if base = l.env("HOME"); base == "" {
			return files
		}
		base = filepath.Join(base, ".config")
	}
	return append(files, filepath.Join(base, "deft", "deft.toml"))
}

// file reads one of our own files.
func (l *loader) file(name string, optional bool) {
	l.current++
	f, err := tomlfile.Read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && optional:
		return
	case errors.Is(err, fs.ErrNotExist):
		l.fail(fault.New(fault.Invalid, "the configuration file "+name+" does not exist").Hint(noFileHint))
		return
	case err != nil:
		l.fail(err)
		return
	}
	l.entries(f)
}

// entries takes over a file's settings.
func (l *loader) entries(f *tomlfile.File) {
	l.report.Files = append(l.report.Files, f.Name)
	dir := filepath.Dir(f.Name)
	for _, t := range f.Tables {
		if key := strings.Join(t.Path, "."); !knownTable(key) {
			l.unknown(Source{Kind: FromFile, Name: f.Name, Line: t.Line}, "["+key+"]", nearest(strings.ToLower(key), tables()))
		}
	}
	for _, e := range f.Entries {
		from := Source{Kind: FromFile, Name: f.Name, Line: e.Line}
		s, ok := setting(e.Key())
		value := e.Value
		if n := len(e.Path) - 1; !ok && n > 0 { // perhaps an item of a table of texts
			if s, ok = setting(strings.Join(e.Path[:n], ".")); ok && s.typ.Kind() != reflect.Map {
				ok = false
			}
			text, isText := value.(string)
			if ok && !isText {
				l.fail(wrong(s, from, "must be a table of texts"))
				continue
			}
			value = map[string]string{e.Path[n]: text}
		}
		switch {
		case !ok && len(e.Path) > 1 && !knownTable(strings.Join(e.Path[:len(e.Path)-1], ".")): // its header is the mistake
			if !slices.ContainsFunc(f.Tables, func(t tomlfile.Table) bool { return slices.Equal(t.Path, e.Path[:len(e.Path)-1]) }) {
				l.unknown(from, e.Key(), nearest(e.Key(), keys()))
			}
		case !ok:
			l.unknown(from, e.Key(), nearest(e.Key(), keys()))
		default:
			if s.Secret && f.Open {
				l.warn(from.String() + ": " + s.Key + " is a secret, and other users of the machine can read the file")
			}
			l.set(s, value, from, dir)
		}
	}
}

func (l *loader) unknown(at Source, name, near string) {
	e := fault.New(fault.Invalid, at.String()+": there is no setting "+name)
	if near != "" {
		e = fault.New(fault.Invalid, at.String()+": there is no setting "+name+"; did you mean "+near+"?")
	}
	l.fail(e.Hint("`deft config example` shows all settings"))
}

func keys() []string {
	var out []string
	for _, s := range Settings() {
		out = append(out, s.Key)
	}
	return out
}

// tables are the names of the sections.
func tables() []string {
	var out []string
	for _, s := range Settings() {
		if section, _, ok := strings.Cut(s.Key, "."); ok && !slices.Contains(out, section) {
			out = append(out, section)
		}
		if s.typ.Kind() == reflect.Map {
			out = append(out, s.Key)
		}
	}
	return out
}

func knownTable(key string) bool { return slices.Contains(tables(), key) }

// variables takes over the environment's settings. An empty variable is none.
func (l *loader) variables() {
	l.current++
	dir := workingDir()
	known := map[string]bool{}
	for _, s := range Settings() {
		known[s.Variable] = true
		if v := l.env(s.Variable); v != "" && s.Key != "data" {
			l.set(s, v, Source{Kind: FromVariable, Name: s.Variable}, dir)
		}
	}
	var unknown []string
	for name := range l.vars {
		if !known[name] && slices.ContainsFunc(tables(), func(table string) bool {
			return strings.HasPrefix(name, "DEFT_"+strings.ToUpper(table)+"_")
		}) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		warning := "the variable " + name + " is unknown"
		var names []string
		for _, s := range Settings() {
			names = append(names, s.Variable)
		}
		if near := nearest(strings.ToLower(name), names); near != "" {
			warning += "; did you mean " + near + "?"
		}
		l.warn(warning)
	}
}

// flags takes over the command line's settings.
func (l *loader) flags() {
	l.current++
	dir := workingDir()
	if l.Data != "" {
		from := Source{Kind: FromFlag, Name: "--data"}
		if l.Data == l.env("DEFT_DATA") {
			from = Source{Kind: FromVariable, Name: "DEFT_DATA"}
		}
		if s, ok := setting("data"); ok {
			l.set(s, l.Data, from, dir)
		}
	}
	l.Flags.given(func(key, flag string, value any) {
		if s, ok := setting(key); ok {
			l.set(s, value, Source{Kind: FromFlag, Name: flag}, dir)
		}
	})
}

// workingDir is where relative paths of variables and flags start.
func workingDir() string {
	dir, err := os.Getwd()
	if err != nil { // it was removed; a relative path is an error later
		return ""
	}
	return dir
}

// nearest returns the word that a mistyped one probably stands for, or "".
func nearest(typed string, words []string) string {
	best, limit := "", max(2, len(typed)/3)
	if len(typed) > 80 { // the distance takes quadratic time
		return ""
	}
	for _, w := range words {
		if d := levenshtein.ComputeDistance(typed, strings.ToLower(w)); d <= limit {
			best, limit = w, d-1
		}
	}
	return best
}
