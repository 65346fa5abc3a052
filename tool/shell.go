package tool

import (
	"slices"
	"strings"
)

// programs are commands that models call as if they were tools.
var programs = []string{"git", "ls", "pwd", "find"}

// asShell rewrites a call of a program, or of grep or glob if these tools are
// missing, as a shell command for the terminal; false for any other call. The
// command comes from the model, so it is treated like any other command of
// the model; values are quoted, so that they stay single words.
func asShell(name, clean string, args *Arguments) bool {
	var command string
	used := []string{"command", "args", "pattern", "path", "include"}
	switch {
	case clean == "grep" && args.Text("pattern") != "":
		command = "grep -rlE"
		if include := args.Text("include"); include != "" {
			command += " --include=" + quote(include)
		}
		command += " -e " + quote(args.Text("pattern")) + " -- " + quote(searchRoot(args))
	case clean == "glob" && args.Text("pattern") != "":
		command = "find " + quote(searchRoot(args)) + " -type f -path " +
			quote("*"+strings.ReplaceAll(args.Text("pattern"), "**", "*"))
	case slices.Contains(programs, clean):
		command = programCommand(strings.TrimSpace(name), clean, args)
	default:
		return false
	}
	for _, n := range used {
		args.Delete(n)
	}
	args.SetText("command", command)
	return true
}

// programCommand joins the program, the text behind it in the tool's name, and its
// arguments.
func programCommand(name, program string, args *Arguments) string {
	given := args.Text("command")
	if given == "" {
		given = args.Text("args")
	}
	if given == program || strings.HasPrefix(given, program+" ") {
		return given
	}
	words := []string{program}
	if _, rest, ok := strings.Cut(name, " "); ok {
		words = append(words, strings.TrimSpace(rest))
	}
	if given != "" {
		words = append(words, given)
	}
	if path := args.Text("path"); path != "" && program != "pwd" {
		words = append(words, quote(path))
	}
	return strings.Join(words, " ")
}

func searchRoot(args *Arguments) string {
	path := args.Text("path")
	switch {
	case path == "":
		return "."
	case strings.HasPrefix(path, "-"):
		return "./" + path // not an option
	}
	return path
}

// quote makes s one word of a shell command.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
