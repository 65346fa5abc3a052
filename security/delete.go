package security

import (
	"path"
	"slices"
	"strings"
)

// deletion describes the known arguments of rm.
type deletion struct {
	recursive, force, noPreserve bool
	unknown                      bool   // a target, or perhaps an option, is not known
	critical                     string // a target that must not go; empty for none
}

func (cr *commandReader) readDelete(args []text) deletion {
	var d deletion
	ended := false
	for _, a := range args {
		switch {
		case !ended && a.s == "--":
			ended = true
		case !ended && strings.HasPrefix(a.s, "--"):
			d.recursive = d.recursive || len(a.s) > 4 && strings.HasPrefix("--recursive", a.s)
			d.force = d.force || len(a.s) > 3 && strings.HasPrefix("--force", a.s)
			d.noPreserve = d.noPreserve || len(a.s) > 4 && strings.HasPrefix("--no-preserve-root", a.s)
		case !ended && len(a.s) > 1 && a.s[0] == '-':
			d.recursive = d.recursive || strings.ContainsAny(a.s, "rR")
			d.force = d.force || strings.Contains(a.s, "f")
			d.unknown = d.unknown || !a.known
		default:
			cr.target(&d, a)
		}
	}
	return d
}

// target looks at one thing to delete.
func (cr *commandReader) target(d *deletion, a text) {
	p := cr.clean(a.s)
	switch {
	case !a.known, strings.HasPrefix(p, "../.."):
		d.unknown = true
	case a.glob && (p == "*" || p == ".*" || strings.HasPrefix(p, "..")):
		d.unknown = true // the directory is unknown
	case a.s == "" || d.critical != "":
	case critical(a.s, a.tilde) || criticalRoot(p) || a.glob && criticalPattern(p):
		d.critical = a.s
	}
}

// mirror analyzes rsync, which deletes files that its source does not have.
func mirror(cr *commandReader, name string, args []text, stdin text) text {
	runsOptions(cr, name, args, stdin)
	deletes := false
	for _, a := range args {
		deletes = deletes || strings.HasPrefix(a.s, "--del")
	}
	if d := (deletion{}); deletes && len(args) > 1 {
		if cr.target(&d, args[len(args)-1]); d.critical != "" {
			cr.report(railDelete, "rsync deletes in "+d.critical)
		}
	}
	return text{}
}

// remove analyzes rm.
func remove(cr *commandReader, _ string, args []text, _ text) text {
	d := cr.readDelete(args)
	if d.recursive && d.force {
		cr.show(signDelete)
	}
	switch {
	case d.recursive && (d.critical != "" || d.noPreserve):
		cr.report(railDelete, "a recursive delete of "+d.critical)
	case d.recursive && d.unknown:
		cr.reportUnknown("a recursive delete of an unknown path")
	case d.unknown && d.critical != "":
		cr.reportUnknown("a delete of " + d.critical + " with unknown options")
	}
	return static("")
}

// roots are directories that the system and its users need. Everything below
// counts.
var roots = []string{"/etc", "/usr", "/var", "/home", "/boot", "/root", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/dev", "/sys", "/proc", "/Users", "/System", "/Library"}

// critical reports whether a path, as it was written, must not be deleted as a
// whole. tilde says that it begins with an unquoted home directory.
func critical(p string, tilde bool) bool {
	if tilde {
		_, rest, _ := strings.Cut(p, "/")
		rest = path.Clean(rest)
		return rest == "." || rest == "*" || strings.HasPrefix(rest, "..")
	}
	p = path.Clean(p)
	p = strings.Replace(p, "/proc/self/root", "", 1)
	if criticalRoot(p) {
		return true
	}
	if strings.HasPrefix(p, "/dev/shm/") {
		return false
	}
	for _, r := range roots {
		if len(p) < len(r) || !strings.EqualFold(p[:len(r)], r) {
			continue
		}
		if rest := p[len(r):]; rest == "" || rest[0] == '/' || rest[0] == '*' {
			return true
		}
	}
	return false
}

// criticalPattern reports whether a shell's pattern stands for a root, or for
// files that a home cannot miss.
func criticalPattern(p string) bool {
	for _, r := range roots {
		if ok, err := path.Match(p, r); ok && err == nil {
			return true
		}
	}
	rest, home := strings.CutPrefix(p, "~/")
	ssh, err := path.Match(strings.ReplaceAll(rest, "[!", "[^"), ".ssh")
	config, err2 := path.Match(strings.ReplaceAll(rest, "[!", "[^"), ".config")
	return home && ssh && config && err == nil && err2 == nil
}

// criticalRoot reports whether a path, wherever it comes from, is a root
// itself or all that is in one.
func criticalRoot(p string) bool {
	p = strings.TrimSuffix(p, "/*")
	if p == "" || p == "/" || p == "~" {
		return true
	}
	return slices.ContainsFunc(roots, func(r string) bool { return strings.EqualFold(p, r) })
}
