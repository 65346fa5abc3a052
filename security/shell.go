package security

import (
	"regexp"
	"strings"
	"sync"
)

// runScript judges a script that is an argument.
func (j *judge) runScript(script text, args []text, stdin text) text {
	switch {
	case script.fetched:
		j.broken(railFetch, "what is fetched from the network is run as a script")
		return text{}
	case !script.known:
		j.unsure("a shell runs what cannot be known")
		if script.s == "" {
			return text{}
		}
	}
	outer := j.params
	j.params = nil
	if len(args) > 0 {
		j.params = &params{args[1:]} // the first is $0
	}
	defer func() { j.params = outer }()
	return j.script(script.s, stdin, true)
}

// stdinScript judges what a shell reads as its script.
func stdinScript(j *judge, name string, _ []text, stdin text) text {
	switch {
	case stdin.fetched:
		j.broken(railFetch, "what is fetched from the network is piped to "+name)
	case !stdin.piped:
	case name == "crontab": // another language
	case stdin.known:
		return j.script(stdin.s, text{}, true)
	default:
		j.unsure("a shell reads a script that cannot be known")
	}
	return text{}
}

// shell judges sh and its like.
func shell(j *judge, name string, args []text, stdin text) text {
	fromInput := false
	for len(args) > 0 {
		a := args[0]
		if !a.known && a.s == "" || len(a.s) < 2 || a.s[0] != '-' && a.s[0] != '+' {
			break
		}
		args = args[1:]
		switch {
		case a.s == "--":
			goto operands
		case a.s == "--rcfile" || a.s == "--init-file":
			if len(args) > 0 {
				j.runFile(args[0], nil, stdin)
				args = args[1:]
			}
		case strings.HasPrefix(a.s, "--"):
		case strings.Contains(a.s, "c"):
			args = afterOptions(args, []string{"-o", "-O"})
			if len(args) == 0 {
				return text{}
			}
			return j.runScript(args[0], args[1:], stdin)
		default:
			fromInput = fromInput || strings.Contains(a.s, "s")
			if last := a.s[len(a.s)-1]; (last == 'o' || last == 'O') && len(args) > 0 {
				args = args[1:]
			}
		}
	}
operands:
	if len(args) == 0 || fromInput || args[0].s == "-" || args[0].s == "/dev/stdin" || args[0].s == "/proc/self/fd/0" || args[0].s == "/dev/fd/0" {
		return stdinScript(j, name, nil, stdin)
	}
	return j.runFile(args[0], args[1:], stdin)
}

// runFile judges a script in a file. A file that was there before is not
// looked at: it was reviewed when it was written.
func (j *judge) runFile(name text, args []text, stdin text) text {
	switch {
	case name.proc != nil:
		content := *name.proc
		content.piped = true
		return stdinScript(j, "a shell", nil, content)
	case name.fetched:
		j.broken(railFetch, "a file is run whose name is fetched from the network")
	case name.known:
		if content, ok := j.files[j.clean(name.s)]; ok {
			return j.runContent(content, args, stdin)
		}
	}
	return text{}
}

func source(j *judge, _ string, args []text, stdin text) text {
	if len(args) == 0 {
		return text{}
	}
	if args[0].s == "/dev/stdin" || args[0].s == "/proc/self/fd/0" {
		return stdinScript(j, "a shell", nil, stdin)
	}
	return j.runFile(args[0], args[1:], stdin)
}

func evaluate(j *judge, _ string, args []text, stdin text) text {
	if len(args) == 0 {
		return text{}
	}
	script := joined(args)
	switch {
	case script.fetched:
		j.broken(railFetch, "what is fetched from the network is evaluated")
		return text{}
	case !script.known && script.s == "":
		j.unsure("what is evaluated cannot be known")
		return text{}
	case !script.known:
		j.unsure("what is evaluated cannot be known as a whole")
	}
	return j.script(script.s, stdin, true)
}

func trap(j *judge, _ string, args []text, stdin text) text {
	if args = afterOptions(args, nil); len(args) > 1 && args[0].s != "" {
		j.script(args[0].s, stdin, true)
	}
	return static("")
}

func alias(j *judge, _ string, args []text, stdin text) text {
	for _, a := range args {
		if _, value, ok := strings.Cut(a.s, "="); ok {
			j.script(value, stdin, false)
		}
	}
	return static("")
}

// interpreterName is how programs are called that run code in a language.
var interpreterName = lazily(`^(python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|rscript|osascript|pwsh|powershell|awk|gawk|mawk|nawk)[0-9.]*$`)

// codeOption are the options with code behind them, by language.
var codeOption = lazily(`^-(c|e|E|r|ne|pe|le|lne|lpe|n?pi?e|-eval|-command|Command|Ic|Sc|Bc|uc)$`)

// interpreter judges a program that runs code in a language other than the
// shell's.
func interpreter(j *judge, name string, args []text, stdin text) text {
	if strings.HasSuffix(strings.TrimRight(name, "0123456789."), "awk") {
		if rest := afterOptions(args, []string{"-F", "-v", "-f"}); len(rest) > 0 {
			j.code(rest[0], stdin)
		}
		return text{fetched: stdin.fetched}
	}
	for i, a := range args {
		switch {
		case codeOption().MatchString(a.s) && i+1 < len(args):
			return j.code(args[i+1], stdin)
		case a.s == "-m" && i+1 < len(args):
			return text{fetched: stdin.fetched} // a module of its own reads the data
		case a.proc != nil && a.proc.fetched:
			j.broken(railFetch, "what is fetched from the network is run by "+name)
			return text{}
		case a.s == "-" || a.s == "/dev/stdin":
			args = nil
		case !strings.HasPrefix(a.s, "-") && (a.s != "" || !a.known):
			if content, ok := j.files[j.clean(a.s)]; ok && a.known {
				if content.fetched {
					j.broken(railFetch, "a file that is fetched from the network is run by "+name)
				}
				return j.code(content, stdin)
			}
			if a.s == "eval" || a.s == "run" { // deno, bun
				continue
			}
			return text{fetched: stdin.fetched}
		}
		if args == nil {
			break
		}
	}
	switch {
	case stdin.fetched:
		j.broken(railFetch, "what is fetched from the network is run by "+name)
	case stdin.piped && !stdin.known:
		j.unsure(name + " reads a program that cannot be known")
	case stdin.piped:
		return j.code(stdin, text{})
	}
	return text{}
}

var (
	runsShell  = lazily(`\b(system|popen|Popen|subprocess|exec\w*|spawn\w*|child_process|check_output|check_call|getoutput|shell_exec|passthru|proc_open|os\.exec\w+|Open3|backtick|qx)\b|` + "`")
	runsCode   = lazily(`\b(exec|eval|compile|Function|system|popen|Popen|subprocess|execSync|spawn\w*|loadstring|instance_eval)\b`)
	getsRemote = lazily(`\b(urlopen|urlretrieve|requests\.get|urllib|httpx|http\.get|https\.get|fetch\(|open-uri|Net::HTTP|LWP|file_get_contents\s*\(\s*.https?:|socket)`)
	deletesAll = lazily(`\b(rmtree|rmSync|rmdirSync|rm_rf|rm_r|remove_tree|removeSync|rimraf|FileUtils|deltree)\b`)
	quotedText = lazily(`"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|` + "`((?:[^`\\\\]|\\\\.)*)`")
	listOf     = lazily(`[\[(]\s*((?:"[^"\n]*"|'[^'\n]*')(?:\s*,\s*(?:"[^"\n]*"|'[^'\n]*'))+)\s*,?\s*[\])]`)
)

// code judges a program of another language by what stands in quotes in it,
// if it has a way to run or to delete it.
func (j *judge) code(code, stdin text) text {
	out := text{fetched: stdin.fetched}
	switch {
	case code.fetched:
		j.broken(railFetch, "what is fetched from the network is run as a program")
		return out
	case !code.known && code.s == "":
		j.unsure("a program is run that cannot be known")
		return out
	case getsRemote().MatchString(code.s) && runsCode().MatchString(code.s):
		j.broken(railFetch, "a program fetches from the network and runs what it gets")
	case stdin.fetched && runsCode().MatchString(code.s):
		j.broken(railFetch, "a program gets what is fetched from the network and may run it")
	}
	shells, deletes := runsShell().MatchString(code.s), deletesAll().MatchString(code.s)
	if !shells && !deletes {
		return out
	}
	for _, m := range quotedText().FindAllStringSubmatch(code.s, 200) {
		literal := m[1] + m[2] + m[3]
		if shells {
			j.script(unbackslash(literal), text{}, false)
		}
		if deletes && critical(literal, strings.HasPrefix(literal, "~")) {
			j.broken(railDelete, "a program deletes "+literal)
		}
	}
	for _, m := range listOf().FindAllStringSubmatch(code.s, 200) {
		var words []text
		for _, q := range quotedText().FindAllStringSubmatch(m[1], 200) {
			words = append(words, static(q[1]+q[2]+q[3]))
		}
		if shells {
			j.run(words, text{})
		}
	}
	return out
}

// lazily compiles a pattern when it is first asked for: most processes judge
// no command.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
