package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/deft-dev/deft/fault"
)

// aliases are names that models know from other products, and the tools they
// stand for (docs/openhands/sdk-features.md section 2); the first one in the
// set is used.
var aliases = map[string][]string{
	"bash":                        {"terminal"},
	"command":                     {"terminal"},
	"execute":                     {"terminal"},
	"execute_bash":                {"terminal"},
	"execute_command":             {"terminal"},
	"reset":                       {"terminal"},
	"run_command":                 {"terminal"},
	"shell":                       {"terminal"},
	"file_editor":                 {"planning_file_editor"},
	"str_replace":                 {"file_editor", "planning_file_editor"},
	"str_replace_editor":          {"file_editor", "planning_file_editor"},
	"str_replace_based_edit_tool": {"file_editor", "planning_file_editor"},
}

// resolve finds the tool that a model means by name, and adapts the arguments
// to it.
func (s *Set) resolve(name string, args *Arguments) (*Definition, error) {
	if d := s.byName[name]; d != nil {
		return d, nil
	}
	clean := cleanName(name)
	if d := s.byName[clean]; d != nil {
		return d, nil
	}
	for _, target := range aliases[clean] {
		if d := s.byName[target]; d != nil {
			adapt(clean, d.Name, args)
			return d, nil
		}
	}
	if d := s.byName["terminal"]; d != nil && asShell(name, clean, args) {
		return d, nil
	}
	names := make([]string, len(s.defs))
	for i, d := range s.defs {
		names[i] = d.Name
	}
	return nil, fault.New(fault.Invalid, fmt.Sprintf("there is no tool %q%s; the tools are %s",
		clip(name, 80), didYouMean(clean, names), list(names)))
}

// cleanName strips the decorations that models put around a tool's name: a
// namespace before it, and markup, arguments or a channel after it.
func cleanName(name string) string {
	name = strings.TrimSpace(name)
	for _, prefix := range []string{"functions.", "functions/", "default_api.", "tools."} {
		name = strings.TrimPrefix(name, prefix)
	}
	end := strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if end > 0 {
		name = name[:end]
	}
	return strings.ToLower(name)
}

// adapt renames the arguments of the tool called alias to the arguments of target.
func adapt(alias, target string, args *Arguments) {
	switch {
	case target == "terminal":
		args.Rename("cmd", "command")
		args.Rename("restart", "reset")
		if alias == "reset" && !args.Has("reset") {
			args.Set("reset", []byte("true"))
		}
		if args.Has("reset") && !args.Has("command") {
			args.SetText("command", "")
		}
	case alias == "str_replace" && !args.Has("command"):
		args.SetText("command", "str_replace")
	}
}

// didYouMean names the candidates that are close to name, or returns "".
func didYouMean(name string, candidates []string) string {
	var near []string
	for _, c := range candidates {
		limit := max(len(name), len(c)) / 3
		if len(name) <= 64 && (levenshtein.ComputeDistance(strings.ToLower(name), c) <= limit ||
			len(name) >= 4 && (strings.Contains(c, name) || strings.Contains(name, c))) {
			near = append(near, c)
		}
	}
	slices.Sort(near)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}
