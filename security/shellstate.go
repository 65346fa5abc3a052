package security

import (
	"slices"
	"strconv"
	"strings"
)

// setParams judges set, which replaces the positional parameters.
func setParams(j *judge, _ string, args []text, _ text) text {
	at := slices.IndexFunc(args, func(a text) bool { return a.s == "--" })
	switch {
	case at >= 0:
		j.params = &params{args[at+1:]}
	case len(args) > 0 && (args[0].s == "" || args[0].s[0] != '-' && args[0].s[0] != '+'):
		j.params = &params{args}
	}
	return static("")
}

// shift judges shift. Within a loop it is not known how often it runs.
func shift(j *judge, _ string, args []text, _ text) text {
	n := 1
	if len(args) > 0 {
		if number, err := strconv.Atoi(args[0].s); err == nil {
			n = number
		}
	}
	switch {
	case j.params == nil:
	case j.loops > 0:
		j.params = nil
	case n >= 0 && n <= len(j.params.rest):
		j.params = &params{j.params.rest[n:]}
	}
	return static("")
}

// alias judges what an alias stands for, and notes it for what follows.
func alias(j *judge, _ string, args []text, stdin text) text {
	for _, a := range args {
		if name, value, ok := strings.Cut(a.s, "="); ok {
			j.script(value, stdin, false)
			if a.known {
				j.aliases[name] = value
			}
		}
	}
	return static("")
}

// hash judges hash -p, which gives a program another name.
func hash(j *judge, _ string, args []text, _ text) text {
	if len(args) == 3 && args[0].s == "-p" && args[1].known {
		j.aliases[args[2].s] = args[1].s
	}
	return static("")
}

// which says where programs are.
func which(_ *judge, _ string, args []text, _ text) text {
	names := afterOptions(args, nil)
	if len(names) != 1 {
		return text{}
	}
	return names[0]
}

// subscript judges the builtins that evaluate the subscripts of variables that
// they are given by name.
func subscript(j *judge, name string, args []text, stdin text) text {
	for _, a := range args {
		if strings.Contains(a.s, "[") && (strings.Contains(a.s, "$(") || strings.Contains(a.s, "`")) {
			j.document(a.s)
		}
	}
	return text{fetched: stdin.fetched && filters[name]}
}

func changeDir(j *judge, _ string, args []text, _ text) text {
	args = afterOptions(args, nil)
	switch {
	case len(args) == 0:
		j.cwd = "~"
	case args[0].known && args[0].s != "" && args[0].s != "-":
		j.cwd = j.clean(args[0].s) // relative to where the shell is, if that is all that is known
	default:
		j.cwd = ""
	}
	return static("")
}
