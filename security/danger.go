package security

import (
	"path"
	"strings"
)

// deletion is what is known of the arguments of rm.
type deletion struct {
	recursive, force, noPreserve bool
	unknown                      bool   // a target, or perhaps an option, is not known
	critical                     string // a target that must not go; empty for none
}

func (j *judge) readDelete(args []text) deletion {
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
			j.target(&d, a)
		}
	}
	return d
}

// target looks at one thing to delete.
func (j *judge) target(d *deletion, a text) {
	p := j.clean(a.s)
	switch {
	case !a.known, strings.HasPrefix(p, "../.."):
		d.unknown = true
	case a.glob && (p == "*" || p == ".*" || strings.HasPrefix(p, "..")):
		d.unknown = true // of which directory nobody knows
	case a.s == "" || d.critical != "":
	case critical(a.s, a.tilde) || criticalRoot(p):
		d.critical = a.s
	}
}

// remove judges rm.
func remove(j *judge, _ string, args []text, _ text) text {
	d := j.readDelete(args)
	j.recursiveDelete = j.recursiveDelete || d.recursive && d.force
	switch {
	case d.recursive && (d.critical != "" || d.noPreserve):
		j.broken(railDelete, "a recursive delete of "+d.critical)
	case d.recursive && d.unknown:
		j.unsure("a recursive delete of what cannot be known")
	case d.unknown && d.critical != "":
		j.unsure("a delete of " + d.critical + " with options that cannot be known")
	}
	return static("")
}

// roots hold what the system and its users need. Everything below counts.
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

// criticalRoot reports whether a path, wherever it comes from, is a root
// itself or all that is in one.
func criticalRoot(p string) bool {
	p = strings.TrimSuffix(p, "/*")
	if p == "" || p == "/" || p == "~" {
		return true
	}
	for _, r := range roots {
		if strings.EqualFold(p, r) {
			return true
		}
	}
	return false
}

// harmlessDevice are devices that hold nothing.
var harmlessDevice = lazily(`^/dev/(null|zero|full|tty\w*|stdin|stdout|stderr|fd(/\d+)?|shm(/.*)?|pts(/\d+)?|random|urandom|tcp/.*|udp/.*)$`)

// device reports whether writing to a path writes to a device.
func device(p string) bool {
	p = path.Clean(p)
	return strings.HasPrefix(p, "/dev/") && !harmlessDevice().MatchString(p)
}

// copyRaw judges dd.
func copyRaw(j *judge, _ string, args []text, stdin text) text {
	for _, a := range args {
		key, value, _ := strings.Cut(a.s, "=")
		switch {
		case strings.EqualFold(key, "of") && device(j.clean(value)):
			j.broken(railDisk, "dd writes to "+value)
		case !a.known && (key == "" || strings.EqualFold(key, "of") && (value == "" || strings.HasPrefix(value, "/dev"))):
			j.unsure("dd writes to what cannot be known")
		}
	}
	return text{fetched: stdin.fetched}
}

// rawDevice judges programs that change the device that they are given.
func rawDevice(j *judge, name string, args []text, _ text) text {
	for _, a := range args {
		switch {
		case a.s == "-l" || a.s == "--list" || a.s == "-n" || a.s == "--no-act" || a.s == "-p" || a.s == "print":
			return text{}
		case device(j.clean(a.s)):
			j.broken(railDisk, name+" changes "+a.s)
		}
	}
	return text{}
}

// writeDevice judges cp and mv, whose last argument is written to.
func writeDevice(j *judge, name string, args []text, _ text) text {
	if len(args) > 1 && device(j.clean(args[len(args)-1].s)) {
		j.broken(railDisk, name+" writes to "+args[len(args)-1].s)
	}
	if files := afterOptions(args, nil); len(files) == 2 && files[0].known && files[1].known {
		if content, ok := j.files[j.clean(files[0].s)]; ok {
			j.files[j.clean(files[1].s)] = content
		}
	}
	return static("")
}

func tee(j *judge, _ string, args []text, stdin text) text {
	for _, a := range afterOptions(args, nil) {
		if device(j.clean(a.s)) {
			j.broken(railDisk, "tee writes to "+a.s)
		}
		if a.known {
			j.files[j.clean(a.s)] = stdin
		}
		if a.proc != nil && stdin.fetched {
			j.unsure("what is fetched from the network goes to a command that is not followed")
		}
	}
	return stdin
}

// find judges what it does with what it finds.
func find(j *judge, _ string, args []text, _ text) text {
	var starts []text
	for len(args) > 0 && !strings.HasPrefix(args[0].s, "-") && args[0].s != "(" && args[0].s != "!" {
		starts, args = append(starts, args[0]), args[1:]
	}
	d := deletion{}
	found := static("./x")
	for _, s := range starts {
		j.target(&d, s)
		found = s.and(static("/x"))
		found.tilde = false
	}
	if d.critical != "" {
		found = static(d.critical)
	}
	for i, a := range args {
		switch a.s {
		case "-delete":
			if d.critical != "" {
				j.broken(railDelete, "find deletes in "+d.critical)
			} else if d.unknown {
				j.unsure("find deletes in what cannot be known")
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			var cmd []text
			for _, w := range args[i+1:] {
				if w.s == ";" || w.s == "+" {
					break
				}
				if w.known && strings.Contains(w.s, "{}") {
					s := found
					s.s = strings.ReplaceAll(w.s, "{}", found.s)
					w = s
				}
				cmd = append(cmd, w)
			}
			if len(cmd) > 0 && deletes(path.Base(cmd[0].s)) && d.critical != "" {
				j.broken(railDelete, "find deletes in "+d.critical)
			}
			j.run(cmd, text{})
		}
	}
	return text{}
}

// fetch judges programs that get something from the network: where it goes.
func fetch(j *judge, name string, args []text, stdin text) text {
	got := text{fetched: true}
	var urls []string
	toFile, remote := "", name == "wget" || name == "aria2c" || name == "axel"
	for i := 0; i < len(args); i++ {
		a := args[i].s
		next := ""
		if i+1 < len(args) {
			next = args[i+1].s
		}
		switch {
		case !strings.HasPrefix(a, "-"):
			urls = append(urls, a)
		case a == "--output" || a == "--output-document" || a == "--download":
			toFile = next
			i++
		case strings.HasPrefix(a, "--output=") || strings.HasPrefix(a, "--output-document="):
			_, toFile, _ = strings.Cut(a, "=")
		case a == "--remote-name" || a == "--remote-name-all":
			remote = true
		case !strings.HasPrefix(a, "--"):
			file, isRemote, used := outputOption(name, a, next)
			toFile, remote = toFile+file, remote || isRemote
			if used {
				i++
			}
		}
	}
	switch {
	case toFile != "" && toFile != "-" && toFile != "/dev/stdout":
		j.files[j.clean(toFile)] = got
		if device(j.clean(toFile)) {
			j.broken(railDisk, name+" writes to "+toFile)
		}
		return static("")
	case toFile == "" && remote:
		for _, u := range urls {
			u, _, _ = strings.Cut(u, "?")
			j.files[j.clean(path.Base(u))] = got
		}
		return static("")
	}
	return got
}

// outputOption reads a group of one-letter options for where the result goes.
// used says that the next word belongs to it.
func outputOption(name, group, next string) (file string, remote, used bool) {
	output, valued := byte('o'), "HdXuAebcFTxmwKEyYzCDPQrtUo"
	if name == "wget" {
		output, valued = 'O', "OoaeitTwQPUlADIXR"
	}
	for i := 1; i < len(group); i++ {
		c := group[i]
		switch {
		case c == output && i+1 < len(group):
			return group[i+1:], remote, false
		case c == output:
			return next, remote, true
		case c == 'O' && name != "wget":
			remote = true
		case strings.IndexByte(valued, c) >= 0:
			return "", remote, i+1 == len(group)
		}
	}
	return "", remote, false
}
