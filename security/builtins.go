package security

import (
	"slices"
	"strconv"
	"strings"
)

// setParams analyzes set, which replaces the positional parameters.
func setParams(cr *commandReader, _ string, args []text, _ text) text {
	at := slices.IndexFunc(args, func(a text) bool { return a.s == "--" })
	switch {
	case at >= 0:
		cr.params = &params{args[at+1:]}
	case len(args) > 0 && (args[0].s == "" || args[0].s[0] != '-' && args[0].s[0] != '+'):
		cr.params = &params{args}
	}
	return static("")
}

// shift analyzes shift. Within a loop it is not known how often it runs.
func shift(cr *commandReader, _ string, args []text, _ text) text {
	n := 1
	if len(args) > 0 {
		if number, err := strconv.Atoi(args[0].s); err == nil {
			n = number
		}
	}
	switch {
	case cr.params == nil:
	case cr.loops > 0:
		cr.params = nil
	case n >= 0 && n <= len(cr.params.rest):
		cr.params = &params{cr.params.rest[n:]}
	}
	return static("")
}

// alias analyzes the command of an alias, and notes it for later statements.
func alias(cr *commandReader, _ string, args []text, stdin text) text {
	for _, a := range args {
		if name, value, ok := strings.Cut(a.s, "="); ok {
			cr.script(value, stdin, false)
			if a.known {
				cr.aliases[name] = value
			}
		}
	}
	return static("")
}

// hash analyzes hash -p, which gives a program another name.
func hash(cr *commandReader, _ string, args []text, _ text) text {
	if len(args) == 3 && args[0].s == "-p" && args[1].known {
		cr.aliases[args[2].s] = args[1].s
	}
	return static("")
}

// which says where programs are.
func which(_ *commandReader, _ string, args []text, _ text) text {
	names := afterOptions(args, nil)
	if len(names) != 1 {
		return text{}
	}
	return names[0]
}

// subscript analyzes the builtins that evaluate the subscripts of variables that
// they are given by name.
func subscript(cr *commandReader, name string, args []text, stdin text) text {
	for _, a := range args {
		if strings.Contains(a.s, "[") && (strings.Contains(a.s, "$(") || strings.Contains(a.s, "`")) {
			cr.document(a.s)
		}
	}
	return text{fetched: stdin.fetched && filters[name]}
}

func changeDir(cr *commandReader, _ string, args []text, _ text) text {
	args = afterOptions(args, nil)
	switch {
	case len(args) == 0:
		cr.cwd = "~"
	case args[0].known && args[0].s != "" && args[0].s != "-":
		cr.cwd = cr.clean(args[0].s) // relative to where the shell is, if that is all that is known
	default:
		cr.cwd = ""
	}
	return static("")
}
