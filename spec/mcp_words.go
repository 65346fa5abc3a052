package spec

import (
	"slices"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
	s "github.com/deft-dev/deft/schema"
)

// DescribeMCPServers describes MCP servers by name, a line each.
func DescribeMCPServers(servers *s.Map) (lines []string) {
	for _, name := range slices.Sorted(slices.Values(servers.Keys())) {
		words, err := DescribeMCPServer(servers.Object(name))
		if err != nil {
			words = "cannot be shown: " + err.Error()
		}
		lines = append(lines, "MCP server "+name+" "+words)
	}
	return lines
}

// DescribeMCPServer describes an MCP server in words that a person decides by: its command or its address, and all other
// settings as they are.
func DescribeMCPServer(server *s.Map) (string, error) {
	var parts []string
	command, _ := server.Get("command").(string)
	address, _ := server.Get("url").(string)
	switch {
	case command != "":
		words := []string{quotedWord(command)}
		args, _ := server.Get("args").([]any)
		for _, a := range args {
			text, _ := a.(string)
			words = append(words, quotedWord(text))
		}
		parts = append(parts, "runs "+strings.Join(words, " "))
	case address != "":
		parts = append(parts, "asks "+address)
	}
	for _, k := range []struct{ key, words string }{{"env", "with the variables"}, {"headers", "with the headers"}} {
		m := server.Object(k.key)
		var all []string
		for _, name := range m.Keys() {
			value, _ := m.Get(name).(string)
			all = append(all, name+"="+value)
		}
		if len(all) > 0 {
			parts = append(parts, k.words+" "+strings.Join(all, " "))
		}
	}
	if hosts, _ := server.Get("network").([]any); len(hosts) > 0 {
		names := make([]string, len(hosts))
		for i, host := range hosts {
			names[i], _ = host.(string)
		}
		parts = append(parts, "may reach "+strings.Join(names, " "))
	}
	if cwd, _ := server.Get("cwd").(string); cwd != "" {
		parts = append(parts, "in "+cwd)
	}
	known := []string{"command", "args", "url", "env", "headers", "network", "cwd", "type", "transport"}
	for _, key := range server.Keys() {
		if value := server.Get(key); value == nil || key == "enabled" && value == true || slices.Contains(known, key) {
			continue
		}
		raw, err := s.Encode(server.Get(key))
		if err != nil {
			return "", err
		}
		parts = append(parts, key+" "+string(raw))
	}
	return strings.Join(parts, ", "), nil
}

var plainWord = lazyregexp.New(`^[\w./+@%=:-]+$`)

// quotedWord is a text as one word of a shell's command.
func quotedWord(text string) string {
	if plainWord().MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
