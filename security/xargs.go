package security

import (
	"path"
	"slices"
	"strings"
)

// xargs analyzes the program that gets its arguments from a pipe.
func xargs(cr *commandReader, _ string, args []text, stdin text) text {
	options := strings.Fields("-I -L -n -P -s -d -a -E --max-args --max-procs --max-lines --max-chars --delimiter --arg-file --replace")
	rest := afterOptions(args, options)
	placeholder, separator := "", ""
	for i, a := range args[:len(args)-len(rest)] {
		next := ""
		if i+1 < len(args) {
			next = args[i+1].s
		}
		switch {
		case a.s == "-I":
			placeholder = next
		case a.s == "-i" || a.s == "--replace":
			placeholder = "{}"
		case strings.HasPrefix(a.s, "--replace="):
			placeholder = strings.TrimPrefix(a.s, "--replace=")
		case strings.HasPrefix(a.s, "-I") || strings.HasPrefix(a.s, "-i"):
			placeholder = a.s[2:]
		case a.s == "-0" || a.s == "--null":
			separator = "\x00"
		case a.s == "-d" || a.s == "--delimiter":
			separator = unbackslash(next)
		case (a.s == "-a" || a.s == "--arg-file") && i+1 < len(args):
			stdin = cr.file(args[i+1])
		}
	}
	if placeholder != "" && separator == "" {
		separator = "\n"
	}
	words := itemsOf(stdin, separator)
	if len(rest) == 0 {
		return joined(words)
	}
	cr.fetchedArguments(rest[0], stdin)
	if placeholder == "" {
		return cr.run(slices.Concat(rest, words), text{})
	}
	for _, w := range words {
		cr.run(replaced(rest, placeholder, w), text{})
	}
	return text{fetched: stdin.fetched}
}

// maxItems is how many lines of input are put into a command, one by one.
const maxItems = 50

// itemsOf cuts input into arguments; an empty separator means blanks and quotes,
// as xargs reads them.
func itemsOf(in text, separator string) []text {
	if !in.known {
		return []text{{fetched: in.fetched}}
	}
	words := strings.Fields(unquoted.Replace(in.s))
	if separator != "" {
		words = strings.Split(strings.TrimSuffix(in.s, separator), separator)
	}
	var items []text
	for i, w := range words {
		if separator != "" && i == maxItems {
			return append(items, text{})
		}
		items = append(items, text{s: w, known: true, fetched: in.fetched})
	}
	return items
}

var unquoted = strings.NewReplacer(`"`, "", `'`, "", `\`, "")

// replaced puts a value where a placeholder stands.
func replaced(words []text, placeholder string, value text) []text {
	out := slices.Clone(words)
	for i, w := range out {
		if strings.Contains(w.s, placeholder) {
			out[i].s = strings.ReplaceAll(w.s, placeholder, value.s)
			out[i].known = w.known && value.known && len(out[i].s) <= maxText
			out[i].fetched = w.fetched || value.fetched
		}
		if len(out[i].s) > maxText {
			out[i].s = ""
		}
	}
	return out
}

// fetchedArguments analyzes a program that gets arguments from the network.
func (cr *commandReader) fetchedArguments(program, stdin text) {
	base := strings.ToLower(path.Base(program.s))
	_, special := programs[base]
	special = special && !filters[base] && !plainArguments[base] && commandOptions[base] == "" && !deletes(base)
	if stdin.fetched && (special || interpreterName().MatchString(base)) {
		cr.report(railFetch, "content from the network becomes arguments of "+base)
	}
}

// plainArguments are programs that do nothing else with an argument from the
// network than with one from the user.
var plainArguments = set("echo printf which test [ openssl xxd base32 ln install ssh make gmake sed gsed")

// parallel analyzes GNU parallel: a shell runs the command for each argument.
func parallel(cr *commandReader, name string, args []text, stdin text) text {
	command := afterOptions(args, strings.Fields("-j --jobs -a --arg-file -I -n -N -S --delay --timeout --joblog --results -d --delimiter -C --colsep"))
	var values []text
	at := slices.IndexFunc(command, func(a text) bool { return a.s == ":::" || a.s == ":::+" })
	if at >= 0 {
		values, command = command[at+1:], command[:at]
	} else {
		values = itemsOf(stdin, "\n")
		if len(command) == 0 {
			return stdinScript(cr, name, nil, stdin)
		}
	}
	if len(command) > 0 {
		cr.fetchedArguments(command[0], stdin)
	}
	for i, v := range values {
		line := replaced(command, "{}", v)
		if !slices.ContainsFunc(command, func(a text) bool { return strings.Contains(a.s, "{}") }) {
			line = append(line, v)
		}
		if i == maxItems {
			cr.reportUnknown("parallel gets too many arguments")
			break
		}
		cr.runScript(joined(line), nil, text{})
	}
	return text{fetched: stdin.fetched}
}

// find rates find -exec and -delete.
func find(cr *commandReader, _ string, args []text, _ text) text {
	for len(args) > 0 && (args[0].s == "-L" || args[0].s == "-H" || args[0].s == "-P" || strings.HasPrefix(args[0].s, "-O") || args[0].s == "-D" && len(args) > 1) {
		if args[0].s == "-D" {
			args = args[1:]
		}
		args = args[1:]
	}
	var starts []text
	for len(args) > 0 && !strings.HasPrefix(args[0].s, "-") && args[0].s != "(" && args[0].s != "!" {
		starts, args = append(starts, args[0]), args[1:]
	}
	if len(starts) == 0 {
		starts = []text{static(".")}
	}
	d := deletion{}
	found := static("./x")
	for _, s := range starts {
		cr.target(&d, s)
		found = s.and(static("/x"))
		found.tilde = false
	}
	if d.critical != "" && !strings.HasPrefix(cr.clean(d.critical), "/dev") {
		found = static(d.critical)
	}
	for i, a := range args {
		switch a.s {
		case "-delete":
			cr.show(signFindDelete)
			if d.critical != "" {
				cr.report(railDelete, "find deletes in "+d.critical)
			} else if d.unknown {
				cr.reportUnknown("find deletes in an unknown directory")
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			end := slices.IndexFunc(args[i+1:], func(w text) bool { return w.s == ";" || w.s == "+" })
			cmd := args[i+1:]
			if end >= 0 {
				cmd = cmd[:end]
			}
			cmd = replaced(cmd, "{}", found)
			if len(cmd) > 0 && deletes(path.Base(cmd[0].s)) {
				cr.show(signFindDelete)
				if d.critical != "" {
					cr.report(railDelete, "find deletes in "+d.critical)
				}
			}
			cr.run(cmd, text{})
		}
	}
	return text{}
}
