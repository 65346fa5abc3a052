package security

import (
	"encoding/base64"
	"regexp"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// interpreterName is how programs are called that run code in a language.
var interpreterName = lazyregexp.New(`^(python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|rscript|osascript|pwsh|powershell|awk|gawk|mawk|nawk)[0-9.]*$`)

// language is how an interpreter is called.
type language struct {
	code   func() *regexp.Regexp // the option with code behind it; group 1 is code in the same word
	values string                // options that take the next word, separated by blanks
}

var languages = map[string]language{
	"python": {lazyregexp.New(`^-[bBdEiIOPqsSuvx]*c(.*)$`), "-W -X -Q --check-hash-based-pycs"},
	"perl":   {lazyregexp.New(`^-[nplwWstTuUSai0-7]*[eE](.*)$`), ""},
	"ruby":   {lazyregexp.New(`^-[nplwWsSai]*e(.*)$`), "-I -C -E"},
	"node":   {lazyregexp.New(`^(?:-e|-p|-pe|--eval|--print)(?:=(.*))?$`), "-r --require --import --loader --experimental-loader -C --conditions --env-file"},
	"php":    {lazyregexp.New(`^-[nq]*[rBRE](.*)$`), "-d -c -z"},
	"lua":    {lazyregexp.New(`^-e(.*)$`), "-l"},
	"pwsh":   {lazyregexp.New(`(?i)^[-/]c(?:ommand)?()$`), "-ExecutionPolicy -WorkingDirectory"},
	"":       {lazyregexp.New(`^(?:-e|-c|-r|--eval)()$`), ""},
}

// languageOf returns how an interpreter is called.
func languageOf(name string) language {
	switch name = strings.TrimRight(name, "0123456789."); name {
	case "pypy":
		name = "python"
	case "nodejs":
		name = "node"
	case "luajit":
		name = "lua"
	case "powershell":
		name = "pwsh"
	}
	if l, ok := languages[name]; ok {
		return l
	}
	return languages[""]
}

// interpreter analyzes a program that runs code in a language other than the
// shell's.
func interpreter(cr *commandReader, name string, args []text, stdin text) text {
	if strings.HasSuffix(strings.TrimRight(name, "0123456789."), "awk") {
		return awk(cr, name, args, stdin)
	}
	l := languageOf(name)
	values := set(l.values)
	for i := 0; i < len(args); i++ {
		a := args[i]
		if m := l.code().FindStringSubmatch(a.s); m != nil && (m[1] != "" || i+1 < len(args)) {
			if m[1] == "" {
				a = args[i+1]
			} else {
				a.s = m[1]
			}
			if name == "pwsh" || name == "powershell" {
				cr.script(a.s, stdin, false)
			}
			return cr.code(a, stdin)
		}
		switch {
		case values[a.s]:
			i++
		case a.s == "-m" && i+1 < len(args):
			return text{fetched: stdin.fetched} // a module of its own reads the data
		case a.s == "-" || standardInput[a.s]:
			return cr.program(name, stdin)
		case a.s == "eval" || a.s == "run": // deno, bun
		case a.proc != nil || !strings.HasPrefix(a.s, "-") && (a.s != "" || !a.known):
			return cr.programFile(name, a, stdin)
		}
	}
	return cr.program(name, stdin)
}

// program analyzes an interpreter that reads its program from standard input.
func (cr *commandReader) program(name string, stdin text) text {
	switch {
	case stdin.fetched:
		cr.report(railFetch, "content from the network is run by "+name)
	case stdin.piped && !stdin.known:
		cr.reportUnknown(name + " reads an unknown program")
	case stdin.piped:
		return cr.code(stdin, text{})
	}
	return text{}
}

// programFile analyzes a program in a file. One that was there before is not
// looked at.
func (cr *commandReader) programFile(name string, file, stdin text) text {
	if file.proc == nil && !file.known {
		return text{fetched: stdin.fetched}
	}
	content := cr.file(file)
	switch {
	case content.fetched:
		cr.report(railFetch, "a file from the network is run by "+name)
		return text{}
	case content.known:
		return cr.code(content, stdin)
	}
	return text{fetched: stdin.fetched}
}

// awk analyzes awk, whose first operand is its program.
func awk(cr *commandReader, name string, args []text, stdin text) text {
	for i, a := range args {
		switch {
		case a.s == "-f" && i+1 < len(args) && (args[i+1].s == "-" || standardInput[args[i+1].s]):
			return cr.program(name, stdin)
		case a.s == "-f" && i+1 < len(args):
			return cr.programFile(name, args[i+1], stdin)
		case (a.s == "-e" || a.s == "--source") && i+1 < len(args):
			return cr.code(args[i+1], stdin)
		}
	}
	if rest := afterOptions(args, []string{"-F", "-v"}); len(rest) > 0 {
		cr.code(rest[0], stdin)
	}
	return text{fetched: stdin.fetched}
}

var (
	runsShell  = lazyregexp.New(`\b(system|popen|Popen|subprocess|exec\w*|spawn\w*|child_process|check_output|check_call|getoutput|shell_exec|passthru|proc_open|os\.exec\w+|Open3|backtick|qx|x)\b|\|&?\s*"|"\s*\|&?\s*getline\b|` + "`")
	runsCode   = lazyregexp.New(`\b(exec|eval|compile|Function|system|popen|Popen|subprocess|execSync|spawn\w*|loadstring|instance_eval)\b|\|&?\s*"(?:/\w+/)*(?:ba|da|z|k)?sh\b`)
	getsRemote = lazyregexp.New(`\b(urlopen|urlretrieve|requests\.get|urllib|httpx|http\.get|https\.get|fetch\(|open-uri|Net::HTTP|LWP|file_get_contents\s*\(\s*.https?:|socket)|\b(?:get|open|include|require)\b\s*\(?\s*['"]https?://|\bURI\.open\b`)
	deletesAll = lazyregexp.New(`\b(rmtree|rmSync|rmdirSync|rm_rf|rm_r|remove_tree|removeSync|rimraf|FileUtils|deltree)\b`)
	quotedText = lazyregexp.New(`"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|` + "`((?:[^`\\\\]|\\\\.)*)`" + `|%x[({\[]([^)}\]]*)[)}\]]`)
	listOf     = lazyregexp.New(`[\[(]\s*((?:"[^"\n]*"|'[^'\n]*')(?:\s*,\s*(?:"[^"\n]*"|'[^'\n]*'))+)\s*,?\s*[\])]`)
	callWith   = lazyregexp.New(`\(\s*("[^"\n]*"|'[^'\n]*')\s*,\s*\[([^\]]*)\]`)
	encoded    = lazyregexp.New(`(?i)base64|b64|atob`)
	openDevice = lazyregexp.New(`open\w*\s*\(\s*['"](/dev/[^'"]+)['"]\s*,\s*(?:mode\s*=\s*)?['"][^'"]*[wa+]|['"]\s*\+?>+\s*(/dev/[^'"]+)['"]`)
)

// code analyzes a program of another language by its quoted texts, if it has a way
// to run or to delete them.
func (cr *commandReader) code(code, stdin text) text {
	out := text{fetched: stdin.fetched}
	switch {
	case code.fetched:
		cr.report(railFetch, "content from the network is run as a program")
		return out
	case !code.known && code.s == "":
		cr.reportUnknown("an unknown program is run")
		return out
	case getsRemote().MatchString(code.s) && runsCode().MatchString(code.s):
		cr.report(railFetch, "a program runs content from the network")
	case stdin.fetched && runsCode().MatchString(code.s):
		cr.report(railFetch, "a program gets content from the network and may run it")
	}
	for _, m := range openDevice().FindAllStringSubmatch(code.s, 200) {
		if device(m[1] + m[2]) {
			cr.report(railDisk, "a program writes to "+m[1]+m[2])
		}
	}
	shells, deletes := runsShell().MatchString(code.s), deletesAll().MatchString(code.s)
	if !shells && !deletes {
		return out
	}
	cr.literals(code.s, shells, deletes)
	if shells {
		cr.lists(code.s)
	}
	return out
}

// literals analyzes the quoted texts of a program: as scripts if it has a way to
// run them, and as paths if it has a way to delete them.
func (cr *commandReader) literals(code string, shells, deletes bool) {
	for _, m := range quotedText().FindAllStringSubmatch(code, 200) {
		literal := m[1] + m[2] + m[3] + m[4]
		if decoded, err := base64.StdEncoding.DecodeString(literal); shells && err == nil && encoded().MatchString(code) {
			cr.script(string(decoded), text{}, false)
		}
		if shells {
			cr.script(unbackslash(literal), text{}, false)
		}
		if deletes && critical(literal, strings.HasPrefix(literal, "~")) {
			cr.report(railDelete, "a program deletes "+literal)
		}
	}
}

// lists analyzes the lists of quoted texts in a program as commands:
// run("rm", ["-rf", "x"]) and run(["rm", "-rf", "x"]).
func (cr *commandReader) lists(code string) {
	words := func(first []text, list string) []text {
		for _, q := range quotedText().FindAllStringSubmatch(list, 200) {
			first = append(first, static(q[1]+q[2]+q[3]))
		}
		return first
	}
	for _, m := range callWith().FindAllStringSubmatch(code, 200) {
		cr.run(words([]text{static(m[1][1 : len(m[1])-1])}, m[2]), text{})
	}
	for _, m := range listOf().FindAllStringSubmatch(code, 200) {
		cr.run(words(nil, m[1]), text{})
	}
}
