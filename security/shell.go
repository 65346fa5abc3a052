package security

import "strings"

// runScript analyzes a script that is an argument.
func (cr *commandReader) runScript(script text, args []text, stdin text) text {
	if script.decoded {
		cr.show(signDecoded)
	}
	switch {
	case script.fetched:
		cr.report(railFetch, "content from the network is run as a script")
		return text{}
	case !script.known:
		cr.reportUnknown("a shell runs an unknown script")
		if script.s == "" {
			return text{}
		}
	}
	outer := cr.params
	cr.params = nil
	if len(args) > 0 {
		cr.params = &params{args[1:]} // the first is $0
	}
	defer func() { cr.params = outer }()
	return cr.script(script.s, stdin, true)
}

// stdinScript analyzes the script that a shell reads.
func stdinScript(cr *commandReader, name string, _ []text, stdin text) text {
	if stdin.decoded {
		cr.show(signDecoded)
	}
	switch {
	case stdin.fetched:
		cr.report(railFetch, "content from the network is piped to "+name)
	case !stdin.piped:
	case stdin.known:
		return cr.script(stdin.s, text{}, true)
	default:
		cr.reportUnknown("a shell reads an unknown script")
	}
	return text{}
}

// shell analyzes sh and its like.
func shell(cr *commandReader, name string, args []text, stdin text) text {
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
				cr.runFile(args[0], nil, stdin)
				args = args[1:]
			}
		case strings.HasPrefix(a.s, "--"):
		case strings.Contains(a.s, "c"):
			args = afterOptions(args, []string{"-o", "-O"})
			if len(args) == 0 {
				return text{}
			}
			return cr.runScript(args[0], args[1:], stdin)
		default:
			fromInput = fromInput || strings.Contains(a.s, "s")
			if last := a.s[len(a.s)-1]; (last == 'o' || last == 'O') && len(args) > 0 {
				args = args[1:]
			}
		}
	}
operands:
	if len(args) == 0 || fromInput || args[0].s == "-" || standardInput[args[0].s] {
		return stdinScript(cr, name, nil, stdin)
	}
	return cr.runFile(args[0], args[1:], stdin)
}

// runFile analyzes a script in a file. A file that was there before is not
// looked at: it was reviewed when it was written.
func (cr *commandReader) runFile(name text, args []text, stdin text) text {
	switch {
	case name.proc != nil:
		content := *name.proc
		content.piped = true
		return stdinScript(cr, "a shell", nil, content)
	case name.fetched:
		cr.report(railFetch, "a file is run whose name comes from the network")
	case name.known:
		if content := cr.file(name); strings.HasPrefix(name.s, "/dev/fd/") && (content.known || content.fetched) {
			content.piped = true
			return stdinScript(cr, "a shell", nil, content)
		}
		if content, ok := cr.files[cr.clean(name.s)]; ok {
			return cr.runContent(content, args, stdin)
		}
	}
	return text{}
}

func source(cr *commandReader, _ string, args []text, stdin text) text {
	if len(args) == 0 {
		return text{}
	}
	if standardInput[args[0].s] {
		return stdinScript(cr, "a shell", nil, stdin)
	}
	return cr.runFile(args[0], args[1:], stdin)
}

func evaluate(cr *commandReader, _ string, args []text, stdin text) text {
	if len(args) > 0 && args[0].s == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return text{}
	}
	script := joined(args)
	if script.decoded {
		cr.show(signDecoded)
	}
	switch {
	case script.fetched:
		cr.report(railFetch, "content from the network is evaluated")
		return text{}
	case !script.known && script.s == "":
		cr.reportUnknown("eval runs unknown text")
		return text{}
	case !script.known:
		cr.reportUnknown("eval runs text that is only partly known")
	}
	return cr.script(script.s, stdin, true)
}

func trap(cr *commandReader, _ string, args []text, stdin text) text {
	if args = afterOptions(args, nil); len(args) > 1 && args[0].s != "" {
		cr.script(args[0].s, stdin, true)
	}
	return static("")
}
