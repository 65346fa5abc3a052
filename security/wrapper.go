package security

import (
	"path"
	"strings"
)

// wrapped says how a program that runs another one is called.
type wrapped struct {
	values   string // options that take a value, separated by blanks
	operands int    // words in front of the program
	assigns  bool   // NAME=value words in front of the program
}

// wrappers run the program that their arguments name.
var wrappers = map[string]wrapped{
	"env":         {values: "-u --unset -C --chdir -S --split-string --argv0 -a", assigns: true},
	"sudo":        {values: "-u --user -g --group -D --chdir -h --host -p --prompt -C --close-from -r --role -t --type -T --command-timeout -U --other-user -R --chroot", assigns: true},
	"doas":        {values: "-u -C"},
	"builtin":     {},
	"command":     {},
	"exec":        {values: "-a"},
	"time":        {values: "-f --format -o --output"},
	"timeout":     {values: "-k --kill-after -s --signal", operands: 1},
	"gtimeout":    {values: "-k --kill-after -s --signal", operands: 1},
	"nice":        {values: "-n --adjustment"},
	"ionice":      {values: "-c --class -n --classdata -p --pid"},
	"chrt":        {values: "-T -P -D", operands: 1},
	"taskset":     {operands: 1},
	"nohup":       {},
	"setsid":      {},
	"stdbuf":      {values: "-i --input -o --output -e --error"},
	"unbuffer":    {},
	"strace":      {values: "-o -e -p -s -u -E -P -I -a"},
	"ltrace":      {values: "-o -e -p -s -u"},
	"chroot":      {values: "--userspec --groups", operands: 1},
	"unshare":     {values: "-R --root -w --wd -S --setuid -G --setgid"},
	"nsenter":     {values: "-t --target -S --setuid -G --setgid"},
	"setpriv":     {values: "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set"},
	"firejail":    {},
	"bwrap":       {},
	"flock":       {values: "-w --timeout -E --conflict-exit-code", operands: 1},
	"watch":       {values: "-n --interval"},
	"entr":        {},
	"caffeinate":  {values: "-t -w"},
	"proxychains": {}, "proxychains4": {}, "torsocks": {}, "faketime": {operands: 1}, "catchsegv": {}, "rlwrap": {}, "xvfb-run": {},
	"uv": {operands: 1}, "poetry": {operands: 1}, "pipenv": {operands: 1},
}

// wrapper judges the program that another one runs.
func wrapper(j *judge, name string, args []text, stdin text) text {
	w := wrappers[name]
	if name == "command" && len(args) > 0 && strings.HasPrefix(args[0].s, "-") && strings.ContainsAny(args[0].s, "vV") {
		return text{} // it only says where the program is
	}
	if name == "env" || name == "watch" || name == "flock" {
		if script, ok := wholeCommand(name, args); ok {
			return j.runScript(script, nil, stdin)
		}
	}
	rest := afterOptions(args, strings.Fields(w.values))
	for w.assigns && len(rest) > 0 && strings.Contains(rest[0].s, "=") && !strings.HasPrefix(rest[0].s, "=") {
		rest = rest[1:]
	}
	if len(rest) <= w.operands {
		return text{}
	}
	return j.run(rest[w.operands:], stdin)
}

// wholeCommand finds the one word that holds a whole command: env -S, flock
// -c, and anything that watch gets.
func wholeCommand(name string, args []text) (text, bool) {
	for i, a := range args {
		switch {
		case name == "env" && (a.s == "-S" || a.s == "--split-string") && i+1 < len(args),
			name == "flock" && (a.s == "-c" || a.s == "--command") && i+1 < len(args):
			return args[i+1], true
		case name == "env" && strings.HasPrefix(a.s, "-S"):
			a.s = a.s[2:]
			return a, true
		case name == "env" && strings.HasPrefix(a.s, "--split-string="):
			a.s = strings.TrimPrefix(a.s, "--split-string=")
			return a, true
		}
	}
	if name != "watch" {
		return text{}, false
	}
	rest := afterOptions(args, []string{"-n", "--interval"})
	return joined(rest), len(rest) > 0
}

// joined is words with blanks between.
func joined(words []text) text {
	out := static("")
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.s)
		w.s = ""
		out = out.and(w)
	}
	if out.s = b.String(); len(out.s) > maxText {
		return text{fetched: out.fetched}
	}
	return out
}

// afterOptions returns the words behind the options. values are those that
// take the next word.
func afterOptions(args []text, values []string) []text {
	for len(args) > 0 {
		a := args[0]
		if a.s == "--" {
			return args[1:]
		}
		if len(a.s) < 2 || a.s[0] != '-' {
			break
		}
		args = args[1:]
		if takesNext(a.s, values) && len(args) > 0 {
			args = args[1:]
		}
	}
	if len(args) > 0 && args[0].s == "-" {
		return args[1:] // env -, su -
	}
	return args
}

// takesNext reports whether an option, perhaps of several letters, has its
// value in the next word.
func takesNext(option string, values []string) bool {
	for _, v := range values {
		switch {
		case option == v:
			return true
		case len(v) == 2 && !strings.HasPrefix(option, "--") && strings.HasSuffix(option, v[1:]) && strings.IndexByte(option, v[1]) == len(option)-1:
			return true
		}
	}
	return false
}

func applet(j *judge, _ string, args []text, stdin text) text {
	return j.run(afterOptions(args, nil), stdin)
}

// xargs judges the program that gets its arguments from a pipe.
func xargs(j *judge, _ string, args []text, stdin text) text {
	rest := afterOptions(args, strings.Fields("-I -i -L -n -P -s -d -a -E --max-args --max-procs --delimiter --arg-file --replace -j --jobs"))
	if len(rest) == 0 {
		return text{}
	}
	more := []text{{}}
	if stdin.known {
		more = nil
		for w := range strings.FieldsSeq(stdin.s) {
			more = append(more, static(w))
		}
	}
	base := strings.ToLower(path.Base(rest[0].s))
	if _, isShell := programs[base]; stdin.fetched && (isShell && !filters[base] && base != "echo" || interpreterName().MatchString(base)) && !deletes(base) {
		j.broken(railFetch, "what is fetched from the network becomes arguments of "+base)
	}
	return j.run(append(append([]text(nil), rest...), more...), text{})
}

func deletes(base string) bool { return base == "rm" || base == "shred" || base == "unlink" }

// su judges su -c and its like.
func su(j *judge, name string, args []text, stdin text) text {
	for i, a := range args {
		switch {
		case (a.s == "-c" || a.s == "--command" || a.s == "--session-command") && i+1 < len(args):
			return j.runScript(args[i+1], nil, stdin)
		case strings.HasPrefix(a.s, "--command="):
			a.s = strings.TrimPrefix(a.s, "--command=")
			return j.runScript(a, nil, stdin)
		}
	}
	if name == "runuser" {
		if rest := afterOptions(args, []string{"-u", "--user", "-g", "--group"}); len(rest) > 0 {
			return j.run(rest, stdin)
		}
	}
	if name != "script" && stdin.piped {
		return stdinScript(j, name, nil, stdin)
	}
	return text{}
}
