package registry

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Programs that run inside.
const (
	agentServer  = "agent-server"
	actionServer = "action-server"
)

// Command is a client's command: one of Deft's programs, or one of the sandbox's.
type Command struct {
	// Args are the command line of Deft, or of the client's program.
	Args []string
	// Given says that it is the client's own program.
	Given bool
	// Port is the one that the client names; 0 if the command of a given program has none.
	Port int
	// User is the value of --user-id; nil without one.
	User *int
}

// ownPort stands for the port of Deft's own action server, which has none: it is reached at
// the runtime's URL.
const ownPort = defaultPort

// agentModule and actionModule are OpenHands' programs, as Python modules.
const (
	agentModule  = "openhands.agent_server"
	actionModule = "openhands.runtime.action_execution_server"
)

// defaultPort is where OpenHands' clients have all servers listen.
const defaultPort = 60000

// ParseCommand reads a command, which is a string or a list of strings, and finds the
// program of Deft that takes the place of OpenHands'. Others are given. Errors: Invalid if
// it is no command, Unsupported for a string that needs a shell.
func ParseCommand(raw json.RawMessage) (Command, error) {
	var words []string
	if json.Unmarshal(raw, &words) != nil {
		var line string
		if json.Unmarshal(raw, &line) != nil {
			return Command{}, fault.New(fault.Invalid, "command must be text or a list of texts")
		}
		if strings.ContainsAny(line, "\"'\\$`;|&<>(){}*?~\n") {
			return Command{}, fault.New(fault.Unsupported, "command: a line with quotes or other signs of a shell is not run").Hint("send the command as a list")
		}
		words = strings.Fields(line)
	}
	if len(words) == 0 {
		return Command{}, fault.New(fault.Invalid, "command is missing")
	}
	if path.Base(words[0]) == "deft" && len(words) > 1 && words[1] == actionServer && slices.Contains(words, "--workspace") {
		return Command{Args: words[1:], Port: ownPort}, nil
	}
	program, rest := program(words)
	switch program {
	case agentServer:
		return agentCommand(rest)
	case actionServer:
		return actionCommand(rest)
	}
	return givenCommand(words)
}

// givenCommand takes a client's program as it is, and looks for --port in it.
func givenCommand(words []string) (Command, error) {
	c := Command{Args: words, Given: true}
	if words[0] == "" || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "\x00") }) {
		return Command{}, fault.New(fault.Invalid, "command: it begins with no program, or has a zero byte")
	}
	for i, word := range words[1:] {
		name, value, inline := strings.Cut(word, "=")
		if name != "--port" {
			continue
		}
		if rest := words[i+2:]; !inline && len(rest) > 0 {
			value = rest[0]
		}
		var err error
		if c.Port, err = parsePort(value); err != nil {
			return Command{}, err
		}
	}
	return c, nil
}

// inEnvironment returns the command with the port that a given program is told by its
// environment, if the command names none, or the default.
func (c Command) inEnvironment(env map[string]string) (Command, error) {
	if !c.Given || c.Port != 0 {
		return c, nil
	}
	for _, name := range []string{"port", "PORT"} { // openhands.server reads the first
		value, ok := env[name]
		if !ok {
			continue
		}
		port, err := parsePort(value)
		if err != nil {
			return Command{}, fault.New(fault.Invalid, "environment: "+name+" must be a number from 1 to 65535")
		}
		c.Port = port
		return c, nil
	}
	c.Port = defaultPort
	return c, nil
}

func shorten(s string) string { return s[:min(len(s), 100)] }

// program finds which program a command runs, and its arguments.
func program(words []string) (name string, rest []string) {
	if path.Base(words[0]) == "openhands-agent-server" {
		return agentServer, words[1:]
	}
	// The words before start Python: micromamba run -n … poetry run python -u -m
	// MODULE
	if i := slices.Index(words, "-m"); i >= 0 && i+1 < len(words) && python(words[:i]) {
		switch words[i+1] {
		case agentModule:
			return agentServer, words[i+2:]
		case actionModule:
			return actionServer, words[i+2:]
		}
	}
	return "", nil
}

// python reports whether one of the words is Python's interpreter.
func python(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(path.Base(w), "python") })
}

// agentCommand keeps the port and refuses the host: the server listens on the sandbox's
// socket.
func agentCommand(rest []string) (Command, error) {
	c := Command{Args: []string{agentServer, "--host", "127.0.0.1"}}
	for i := 0; i < len(rest); i++ {
		name, value, inline := strings.Cut(rest[i], "=")
		next := func() string {
			if !inline && i+1 < len(rest) {
				i++
				value = rest[i]
			}
			return value
		}
		switch name {
		case "--port":
			port, err := parsePort(next())
			if err != nil {
				return Command{}, err
			}
			c.Port, c.Args = port, append(c.Args, "--port", strconv.Itoa(port))
		case "--host": // it is reached over the sandbox's socket, from wherever this server is
			next()
		default:
			c.Args = append(c.Args, rest[i])
		}
	}
	return c, nil
}

// actionCommand takes the user out, who is the sandbox's.
func actionCommand(rest []string) (Command, error) {
	c := Command{Args: []string{actionServer}}
	if len(rest) == 0 {
		return Command{}, fault.New(fault.Invalid, "command: the action server needs a port")
	}
	port, err := parsePort(rest[0])
	if err != nil {
		return Command{}, err
	}
	c.Port, c.Args = port, append(c.Args, strconv.Itoa(port))
	for i := 1; i < len(rest); i++ {
		name, value, inline := strings.Cut(rest[i], "=")
		if name != "--user-id" {
			c.Args = append(c.Args, rest[i])
			continue
		}
		if !inline && i+1 < len(rest) {
			i++
			value = rest[i]
		}
		id, err := strconv.Atoi(value)
		if err != nil || id < 0 {
			return Command{}, fault.New(fault.Invalid, "command: --user-id must be a number")
		}
		c.User = &id
	}
	return c, nil
}

func parsePort(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fault.New(fault.Invalid, "command: the port must be a number from 1 to 65535")
	}
	return int(n), nil
}
