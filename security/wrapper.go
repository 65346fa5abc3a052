package security

import (
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// wrapped says how a program that runs another one is called.
type wrapped struct {
	values   string // options that take a value, separated by blanks
	operands int    // words in front of the program
	assigns  bool   // NAME=value words in front of the program
	chdir    string // options that name the working directory, separated by blanks
}

// wrappers run the program that their arguments name.
var wrappers = map[string]wrapped{
	"env":         {values: "-u --unset -C --chdir -S --split-string --argv0 -a", assigns: true, chdir: "-C --chdir"},
	"sudo":        {values: "-u --user -g --group -D --chdir -h --host -p --prompt -C --close-from -r --role -t --type -T --command-timeout -U --other-user -R --chroot", assigns: true, chdir: "-D --chdir"},
	"doas":        {values: "-u -C"},
	"pkexec":      {values: "--user"},
	"run0":        {values: "-u --user -g --group -D --chdir --slice --property --setenv --nice", chdir: "-D --chdir"},
	"gosu":        {operands: 1},
	"su-exec":     {operands: 1},
	"systemd-run": {values: "-p --property -u --unit --uid --gid --nice --working-directory -E --setenv -M --machine -H --host --description --slice", chdir: "--working-directory"},
	"fakeroot":    {values: "-l -s -i -f -b --lib --faked"},
	"eatmydata":   {},
	"cgexec":      {values: "-g"},
	"numactl":     {values: "-i -N -m -C -p --interleave --cpunodebind --membind --physcpubind --preferred"},
	"prlimit":     {values: "-p --pid -o --output"},
	"screen":      {values: "-S -t -h -T -c -p -L -e -s"},
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

// wrapper analyzes the program that another one runs.
func wrapper(cr *commandReader, name string, args []text, stdin text) text {
	w := wrappers[name]
	if name == "command" && len(args) > 1 && strings.HasPrefix(args[0].s, "-") && strings.ContainsAny(args[0].s, "vV") {
		return args[1] // it only says where the program is
	}
	if name == "env" || name == "watch" || name == "flock" {
		if script, ok := wholeCommand(name, args); ok {
			return cr.runScript(script, nil, stdin)
		}
	}
	rest := afterOptions(args, strings.Fields(w.values))
	options := args[:len(args)-len(rest)]
	for w.assigns && len(rest) > 0 && strings.Contains(rest[0].s, "=") && !strings.HasPrefix(rest[0].s, "=") {
		variable, _, _ := strings.Cut(rest[0].s, "=")
		value := rest[0]
		value.s = strings.TrimPrefix(value.s, variable+"=")
		cr.environment(variable, value)
		rest = rest[1:]
	}
	if dir, ok := optionValue(options, strings.Fields(w.chdir)); ok {
		cwd := cr.cwd
		defer func() { cr.cwd = cwd }()
		changeDir(cr, "", []text{dir}, stdin)
	}
	if len(rest) <= w.operands {
		if name == "sudo" && stdin.piped && loginShell(options) {
			return stdinScript(cr, name, nil, stdin)
		}
		return text{}
	}
	return cr.run(rest[w.operands:], stdin)
}

// loginShell reports whether sudo starts a shell.
func loginShell(options []text) bool {
	for _, a := range options {
		if a.s == "--login" || a.s == "--shell" || len(a.s) > 1 && a.s[1] != '-' && strings.ContainsAny(a.s[1:], "is") {
			return true
		}
	}
	return false
}

// optionValue returns the value of one of several options, in the next word or
// behind an equals sign.
func optionValue(args []text, names []string) (text, bool) {
	for i, a := range args {
		for _, name := range names {
			if a.s == name && i+1 < len(args) {
				return args[i+1], true
			}
			if strings.HasPrefix(name, "--") && strings.HasPrefix(a.s, name+"=") {
				a.s = a.s[len(name)+1:]
				return a, true
			}
		}
	}
	return text{}, false
}

// splitOption is env -S, which splits one word into options and a command.
var splitOption = lazyregexp.New(`^(-[iv0]*S|--split-string(=|$))`)

// wholeCommand finds the one word that holds a whole command: env -S, flock
// -c, and anything that watch gets.
func wholeCommand(name string, args []text) (text, bool) {
	for i, a := range args {
		switch {
		case name == "flock" && (a.s == "-c" || a.s == "--command") && i+1 < len(args):
			return args[i+1], true
		case name == "env" && splitOption().MatchString(a.s):
			a.s = "env " + a.s[len(splitOption().FindString(a.s)):]
			script := joined(append([]text{a}, args[i+1:]...))
			script.s = strings.ReplaceAll(script.s, `\_`, " ")
			return script, true
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

func applet(cr *commandReader, _ string, args []text, stdin text) text {
	return cr.run(afterOptions(args, nil), stdin)
}

func deletes(base string) bool { return base == "rm" || base == "shred" || base == "unlink" }

// shortOptions are options of su and script in front of -c in one word.
var shortOptions = lazyregexp.New(`^-[lpmPqaefv]*$`)

// su analyzes su -c and its like.
func su(cr *commandReader, name string, args []text, stdin text) text {
	for i, a := range args {
		group, attached, short := strings.Cut(a.s, "c")
		short = short && shortOptions().MatchString(group)
		switch {
		case short && attached != "":
			a.s = attached
			return cr.runScript(a, nil, stdin)
		case (short || a.s == "--command" || a.s == "--session-command") && i+1 < len(args):
			return cr.runScript(args[i+1], nil, stdin)
		case strings.HasPrefix(a.s, "--command="):
			a.s = strings.TrimPrefix(a.s, "--command=")
			return cr.runScript(a, nil, stdin)
		}
	}
	if name == "runuser" {
		if rest := afterOptions(args, []string{"-u", "--user", "-g", "--group"}); len(rest) > 0 {
			return cr.run(rest, stdin)
		}
	}
	if name != "script" && stdin.piped {
		return stdinScript(cr, name, nil, stdin)
	}
	return text{}
}
