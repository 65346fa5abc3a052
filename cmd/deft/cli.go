package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/deft-dev/deft/cli/completion"
	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/plugins"
	"github.com/deft-dev/deft/cli/sandboxes"
	"github.com/deft-dev/deft/cli/serveconfig"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/cli/undo"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

// grammar is the command line.
type grammar struct {
	globalFlags

	runGrammar
	Demo          demoCmd            `cmd:"" help:"Watch a recorded session fix a failing test, with real tools and no key."`
	Conversations conversationsCmd   `cmd:"" aliases:"conv" help:"List, show, fork, export, import and delete conversations."`
	Undo          undo.Undo          `cmd:"" help:"Take a conversation and the files back to before your last message."`
	Shell         shellCmd           `cmd:"" help:"Open a shell in the sandbox of a conversation."`
	Forward       sandboxes.Forward  `cmd:"" help:"Reach programs that listen in the sandbox of a conversation."`
	Sandbox       sandboxCmd         `cmd:"" help:"Show the log of a conversation's sandbox, and its use of resources."`
	Doctor        doctorCmd          `cmd:"" help:"Show the state of this machine, and try to break out of the sandbox."`
	LLM           llmCmd             `cmd:"" name:"llm" help:"Test models, list them, and show their costs."`
	Completion    completion.Command `cmd:"" help:"Print a completion script for a shell."`
	Complete      completion.Values  `cmd:"" hidden:"" help:"Print values for a completion script."`
	MCP           mcpCmd             `cmd:"" name:"mcp" help:"Log in at MCP servers, and offer Deft to MCP clients."`
	ACP           acpCmd             `cmd:"" name:"acp" help:"Offer Deft to an editor, over standard input and output: Zed, JetBrains, Neovim."`
	Plugins       plugins.Command    `cmd:"" help:"Install, show, update and remove plugins: skills, commands, agents, hooks and MCP servers."`
	Config        configCmd          `cmd:"" help:"Show and check the settings of deft serve."`
	Build         buildCmd           `cmd:"" help:"Build Deft with packages of your own linked in."`
	Licenses      licensesCmd        `cmd:"" help:"Print the licences of Deft and of everything that is linked into it."`
	Version       versionCmd         `cmd:"" help:"Print the version."`
	Dev           devCmd             `cmd:"" help:"Tools for people who work on Deft."`
	RuntimeAPI    runtimeAPICmd      `cmd:"" name:"runtime-api" help:"Start sandboxes for clients of OpenHands' Runtime API."`
	SandboxServer sandboxServerCmd   `cmd:"" name:"sandbox-server" hidden:"" help:"Wait inside a sandbox for programs to run."`
	serveGrammar
	agentServerGrammar
	actionServerGrammar
}

// The parts of the grammar that are parsed alone where nothing else is wanted:
// parsing the grammar of all commands takes milliseconds, which every run would
// wait for.
type (
	runGrammar struct {
		Run runCmd `cmd:"" help:"Work on a task in a directory."`
	}
	serveGrammar struct {
		Serve serveCmd `cmd:"" help:"Serve the App Server: REST API, conversations in sandboxes, settings, on one port."`
	}
	agentServerGrammar struct {
		AgentServer agentServerCmd `cmd:"" name:"agent-server" help:"Serve conversations to OpenHands clients: REST and WebSockets."`
	}
	actionServerGrammar struct {
		ActionServer actionServerCmd `cmd:"" hidden:"" help:"Serve actions to clients of OpenHands, or inside a sandbox."`
	}
)

// grammarFor returns the parser of the arguments of a command, and its global
// flags.
func grammarFor(command string) (any, *globalFlags) {
	switch command {
	case "run":
		var g struct {
			globalFlags
			runGrammar
		}
		return &g, &g.globalFlags
	case "serve":
		var g struct {
			globalFlags
			serveGrammar
		}
		return &g, &g.globalFlags
	case "agent-server":
		var g struct {
			globalFlags
			agentServerGrammar
		}
		return &g, &g.globalFlags
	case "sandbox-server":
		var g struct {
			globalFlags
			SandboxServer sandboxServerCmd `cmd:"" name:"sandbox-server"`
		}
		return &g, &g.globalFlags
	case "action-server":
		var g struct {
			globalFlags
			actionServerGrammar
		}
		return &g, &g.globalFlags
	}
	var g grammar
	return &g, &g.globalFlags
}

// commandOf returns the command of a command line, which flags may precede; "" if there
// is none.
func commandOf(args []string) string {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--data": // its value follows
			i++
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		}
	}
	return ""
}

const description = `Deft gives a software task to an LLM agent that works in a sandbox on your machine.

  export LLM_MODEL=anthropic/claude-sonnet-4-5 LLM_API_KEY=…
  deft run "fix the failing test"

Without a key, "deft demo" shows how it looks.`

// executeCommandLine parses and runs one command and returns its exit code.
func executeCommandLine(ctx context.Context, args []string, std *streams) (code int) {
	if len(args) == 0 && !std.InTTY && !std.OutTTY { // a script has forgotten something
		fmt.Fprintln(std.Err, "deft: no command")
		fmt.Fprintln(std.Err, "Try `deft --help`.")
		return fault.ExitUsage
	}
	args = negativeValues(wordsAfterDashes(dashedTask(normalizeArgs(joinPlugins(args)))))
	var command string
	if len(args) > 0 {
		command = args[0]
	}
	c, err := newCommandLine(ctx, command, std)
	if err != nil {
		fmt.Fprintln(std.Err, "deft:", err)
		return fault.ExitError
	}
	return c.execute(args)
}

// commandLine parses and runs one command.
type commandLine struct {
	parser *kong.Kong
	std    *streams
	exited int
}

// newCommandLine returns the parser of the arguments of a command, "" for any.
func newCommandLine(ctx context.Context, command string, std *streams) (*commandLine, error) {
	c := &commandLine{std: std, exited: -1}
	g, flags := grammarFor(command)
	var err error
	c.parser, err = kong.New(g,
		kong.Name("deft"), kong.Description(description),
		kong.Writers(std.Out, std.Err),
		kong.Exit(func(code int) { c.exited = code; panic(exitEarly{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.TypeMapper(reflect.TypeFor[sandbox.Network](), networkFlag{}),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), durationFlag{}),
		sandboxVars(), kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(std, &std.Streams, flags, profileWiring(std), importWiring(std), loginWiring(std), pluginWiring(std), configSourcesOf(std, flags), serveconfig.TryProvider(tryProvider), conversationsOf(ctx, std, flags),
			storedConversations(ctx, std, flags), deletion(ctx, std, flags), sandboxesOf(ctx, std, flags), linked(ctx, std, flags), imagesOf(std, flags), sandboxClasses()),
	)
	return c, err
}

func (c *commandLine) execute(args []string) (code int) {
	defer func() {
		if r := recover(); r != nil {
			if _, early := r.(exitEarly); !early {
				panic(r)
			}
			code = c.exited
		}
	}()
	k, err := c.parser.Parse(args)
	if err != nil {
		return usage(c.std, err, args)
	}
	if err := checkValues(k); err != nil {
		return c.std.Report(err)
	}
	return c.std.Report(k.Run())
}

// normalizeArgs understands arguments that people type without having read the
// help.
func normalizeArgs(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case args[0] == "--version" || args[0] == "-V":
		return append([]string{"version"}, args[1:]...)
	}
	return args
}

// dashedTask puts the task of a run behind "--" if it is one argument that begins with a dash
// and has blanks, as a line of a list does: no flag looks like that.
func dashedTask(args []string) []string {
	if commandOf(args) != "run" || slices.Contains(args, "--") {
		return args
	}
	for i, arg := range args {
		if name, _, _ := strings.Cut(arg, "="); !strings.HasPrefix(arg, "-") || !strings.ContainsAny(name, " \t\n") {
			continue
		}
		out := slices.Delete(slices.Clone(args), i, i+1)
		return append(out, "--", arg)
	}
	return args
}

// negativeValues joins a flag and the number below 0 after it, which would be taken for a short flag: the command says
// which numbers it takes.
func negativeValues(args []string) (joined []string) {
	for i, arg := range args {
		if arg == "--" {
			return append(joined, args[i:]...)
		}
		last := len(joined) - 1
		if len(arg) > 1 && arg[0] == '-' && strings.Contains(".0123456789", arg[1:2]) && last >= 0 &&
			strings.HasPrefix(joined[last], "--") && !strings.Contains(joined[last], "=") {
			joined[last] += "=" + arg
			continue
		}
		joined = append(joined, arg)
	}
	return joined
}

// exitEarly unwinds from kong's --help.
type exitEarly struct{}

func usage(std *streams, err error, args []string) int {
	cmd := "deft"
	var p *kong.ParseError
	if errors.As(err, &p) && p.Context != nil {
		if path := p.Context.Command(); path != "" {
			cmd += " " + strings.Fields(path)[0]
		}
	}
	next := "Try `" + cmd + " --help`."
	if cmd == "deft" && len(args) > 0 && strings.Contains(args[0], " ") {
		next = "A task needs `run`: deft run " + stdio.Quoted(args[0])
	}
	fmt.Fprintln(std.Err, "deft:", stdio.OneLine(withBlankArgument(withoutEmptyChoice(err.Error()))))
	if hint := fault.HintOf(err); hint != "" {
		fmt.Fprintln(std.Err, "  →", stdio.OneLine(hint))
	}
	fmt.Fprintln(std.Err, console.Line(next))
	return fault.ExitUsage
}

// withoutEmptyChoice is an error about a flag of a few values without the empty one, which is
// the flag's absence.
func withoutEmptyChoice(message string) string {
	return strings.Replace(message, `must be one of "",`, "must be one of ", 1)
}

// blankArgument finds an argument that cannot be seen in a message of the parser, and the names of all commands, each of
// which begins like it.
var blankArgument = regexp.MustCompile(`^unexpected argument (\s*)(, did you mean .*)?$`)

// withBlankArgument quotes an argument that is empty or blank.
func withBlankArgument(message string) string {
	return blankArgument.ReplaceAllString(message, `unexpected argument "$1"`)
}
