package security

import "strings"

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
	if len(args) == 0 || fromInput || args[0].s == "-" || standardInput[args[0].s] {
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
		if content := j.file(name); strings.HasPrefix(name.s, "/dev/fd/") && (content.known || content.fetched) {
			content.piped = true
			return stdinScript(j, "a shell", nil, content)
		}
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
	if standardInput[args[0].s] {
		return stdinScript(j, "a shell", nil, stdin)
	}
	return j.runFile(args[0], args[1:], stdin)
}

func evaluate(j *judge, _ string, args []text, stdin text) text {
	if len(args) > 0 && args[0].s == "--" {
		args = args[1:]
	}
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
