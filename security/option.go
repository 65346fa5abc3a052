package security

import (
	"regexp"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// environment analyzes a variable that a program may get: some are run.
func (cr *commandReader) environment(name string, value text) {
	if gitVariables[name] && value.s != "" {
		cr.show(signGitCommand)
	}
	switch {
	case !commandVariables[name]:
	case value.fetched:
		cr.report(railFetch, "content from the network becomes "+name)
	case name == "BASH_ENV" || name == "ENV":
		cr.runFile(value, nil, text{})
		cr.document(value.s)
	case name[0] == 'P' && strings.HasPrefix(name, "PS"):
		cr.document(value.s)
	default:
		cr.script(value.s, text{}, false)
	}
}

// commandVariables are environment variables that a program runs.
var commandVariables = set("BASH_ENV ENV PROMPT_COMMAND PS0 PS1 PS2 PS4 PAGER MANPAGER EDITOR VISUAL BROWSER LESSOPEN LESSCLOSE " +
	"GIT_SSH GIT_SSH_COMMAND GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_ASKPASS SSH_ASKPASS")

// commandOptions are options whose value a program runs by a shell.
var commandOptions = map[string]string{
	"sort": "--compress-program", "man": "-P --pager -H --html", "rg": "--pre",
	"tar":   "--checkpoint-action --to-command -I --use-compress-program -F --info-script --new-volume-script --rsh-command --rmt-command",
	"rsync": "-e --rsh", "scp": "-o -S", "sftp": "-o -S",
	"git": "-c -x --exec --upload-pack --receive-pack -O --open-files-in-pager",
	"gdb": "-ex -iex --eval-command", "vim": "-c --cmd", "vi": "-c", "nvim": "-c --cmd", "view": "-c",
	"zip": "-TT --unzip-command", "tcpdump": "-z",
}

// commandOperands are programs that run other arguments as well: those with a
// mark in front, and those behind a word.
var commandOperands = map[string]func() *regexp.Regexp{
	"git": lazyregexp.New(`^(alias\..*|core\.(pager|editor|fsmonitor|sshCommand)|diff\.external|credential\.helper|foreach|run)$`),
	"vim": lazyregexp.New(`^\+`), "vi": lazyregexp.New(`^\+`), "nvim": lazyregexp.New(`^\+`), "view": lazyregexp.New(`^\+`),
	"tmux": lazyregexp.New(`^(new|new-session|neww|new-window|splitw|split-window|run|run-shell|respawn-pane|pipe-pane|send|send-keys)$`),
}

// runsOptions analyzes a program that does its own work and runs a command that
// an argument holds.
func runsOptions(cr *commandReader, name string, args []text, stdin text) text {
	if name == "git" {
		gitSettings(cr, args)
	}
	options, operand, after := strings.Fields(commandOptions[name]), commandOperands[name], false
	for i, a := range args {
		option, value, attached := strings.Cut(a.s, "=")
		long := strings.HasPrefix(option, "--")
		for _, o := range options {
			switch {
			case option == o && !attached, long && len(option) > 4 && strings.HasPrefix(o, option) && !attached:
				if i+1 < len(args) {
					cr.argument(args[i+1].s)
				}
			case long && len(option) > 4 && strings.HasPrefix(o, option):
				cr.argument(value)
			case !long && len(o) == 2 && strings.HasPrefix(a.s, o):
				cr.argument(a.s[2:])
			}
		}
		switch {
		case operand == nil:
		case after && len(a.s) > 0 && a.s[0] != '-', strings.HasPrefix(a.s, "+"):
			cr.argument(joined(args[i:]).s)
			cr.argument(a.s)
		}
		after = after || operand != nil && operand().MatchString(a.s)
	}
	switch {
	case filters[name]:
		return text{fetched: stdin.fetched}
	case stdin.fetched:
		cr.report(railFetch, "content from the network is piped to "+name)
	}
	return text{}
}

// commandMark is the text in front of the command within a value.
var commandMark = lazyregexp.New(`^(?:exec=|[\w.-]+=)?(?:\+|:|!|\s|shell\s|silent\s|system\s|exec=)*`)

// argument analyzes the value of an option that is perhaps a command.
func (cr *commandReader) argument(value string) {
	if value != "" {
		cr.script(commandMark().ReplaceAllString(value, ""), text{}, false)
	}
}

// secureShell analyzes ssh, whose command runs on another machine.
func secureShell(cr *commandReader, name string, args []text, stdin text) text {
	values := strings.Fields("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B")
	for i, a := range args {
		switch {
		case a.s == "-o" && i+1 < len(args):
			cr.argument(args[i+1].s)
		case strings.HasPrefix(a.s, "-o"):
			cr.argument(a.s[2:])
		}
	}
	rest := afterOptions(args, values)
	if len(rest) < 2 {
		if len(rest) == 1 && stdin.piped {
			stdinScript(cr, name, nil, stdin)
		}
		return text{fetched: stdin.fetched}
	}
	cwd, files := cr.cwd, cr.files
	cr.cwd, cr.files = "", map[string]text{}
	defer func() { cr.cwd, cr.files = cwd, files }()
	script := joined(rest[1:])
	if !script.known { // ssh is used with variables all the time
		cr.script(script.s, stdin, false)
		return text{}
	}
	return cr.runScript(script, nil, stdin)
}

// makefile analyzes the commands of a makefile on standard input.
func makefile(cr *commandReader, _ string, args []text, stdin text) text {
	for i, a := range args {
		fromStdin := a.s == "-f-" || a.s == "-f" && i+1 < len(args) && (args[i+1].s == "-" || standardInput[args[i+1].s])
		switch {
		case !fromStdin:
		case stdin.fetched:
			cr.report(railFetch, "content from the network is piped to make")
		case stdin.known:
			for line := range strings.Lines(stdin.s) {
				recipe, isRecipe := strings.CutPrefix(line, "\t")
				if _, inline, ok := strings.Cut(line, ";"); !isRecipe && ok {
					recipe = inline
				}
				cr.script(strings.TrimLeft(recipe, "@-+ \t"), text{}, false)
			}
		}
	}
	return text{}
}

// sed analyzes sed: its scripts can run commands.
func sed(cr *commandReader, name string, args []text, stdin text) text {
	scripts := []text{}
	for i, a := range args {
		switch {
		case (a.s == "-e" || a.s == "--expression") && i+1 < len(args):
			scripts = append(scripts, args[i+1])
		case strings.HasPrefix(a.s, "--expression="):
			a.s = strings.TrimPrefix(a.s, "--expression=")
			scripts = append(scripts, a)
		case (a.s == "-f" || a.s == "--file") && i+1 < len(args):
			content := cr.file(args[i+1])
			if args[i+1].s == "-" {
				content = stdin
			}
			scripts = append(scripts, content)
		}
	}
	if rest := afterOptions(args, []string{"-l", "--line-length"}); len(scripts) == 0 && len(rest) > 0 {
		scripts = rest[:1]
	}
	for _, s := range scripts {
		if s.fetched {
			cr.report(railFetch, "content from the network is run by "+name)
		}
		for _, m := range sedExecute().FindAllStringSubmatch(s.s, 100) {
			if stdin.fetched {
				cr.report(railFetch, "content from the network is run by "+name)
			}
			cr.script(m[1], text{}, false)
		}
		cr.substituted(s.s, stdin)
	}
	return text{fetched: stdin.fetched}
}

// sedExecute is the command e of sed, with its argument.
var sedExecute = lazyregexp.New(`(?m)(?:^|[;{}])\s*(?:[0-9$,+~]+|/[^/]*/)?\s*e(?:[ \t]+(.*))?$`)

// substituted analyzes s/pattern/command/e of sed.
func (cr *commandReader) substituted(script string, stdin text) {
	for i, left := 0, maxItems; i+2 < len(script) && left > 0; i++ {
		if script[i] != 's' || i > 0 && !strings.ContainsRune(" \t\n;{}$/0123456789", rune(script[i-1])) {
			continue
		}
		left--
		parts := delimited(script[i+2:], script[i+1])
		if len(parts) < 3 {
			continue
		}
		if flags := sedFlags().FindString(parts[2]); strings.Contains(flags, "e") {
			if stdin.fetched {
				cr.report(railFetch, "content from the network is run by sed")
			}
			cr.script(parts[1], text{}, false)
		}
	}
}

var sedFlags = lazyregexp.New(`^[a-zA-Z0-9]*`)

// delimited cuts a text at the first two delimiters that no backslash hides,
// and takes the backslashes away.
func delimited(s string, delimiter byte) []string {
	var parts []string
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			if i++; s[i] != delimiter {
				b.WriteByte('\\')
			}
			b.WriteByte(s[i])
		case s[i] == delimiter && len(parts) < 2:
			parts = append(parts, b.String())
			b.Reset()
		default:
			b.WriteByte(s[i])
		}
	}
	return append(parts, b.String())
}

// schedule analyzes crontab, whose lines end with a command.
func schedule(cr *commandReader, _ string, args []text, stdin text) text {
	table := stdin
	for _, a := range args {
		if a.s != "-" && !strings.HasPrefix(a.s, "-") {
			table = cr.file(a)
			table.piped = true
		}
	}
	if !table.piped {
		return text{}
	}
	if table.fetched {
		cr.report(railFetch, "content from the network is piped to crontab")
	}
	for line := range strings.Lines(table.s) {
		words := strings.Fields(line)
		times := 5
		if len(words) > 0 && strings.HasPrefix(words[0], "@") {
			times = 1
		}
		if len(words) > times && words[0][0] != '#' {
			cr.script(strings.Join(words[times:], " "), text{}, false)
		}
	}
	return text{}
}
