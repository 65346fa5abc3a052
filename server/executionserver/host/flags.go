package host

import (
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deft-dev/deft/executor/standard"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/standardserver"
	"github.com/deft-dev/deft/server/executionserver"
)

// Command is the name of the command of action servers.
const Command = "action-server"

// WaitCommand is the name of the command that waits for an assignment ([Wait]).
const WaitCommand = "sandbox-server"

// Flags are the flags of `deft action-server`: with a port it serves OpenHands' contract, without
// one it is Deft's own server in a sandbox. The command line of deft reads them by their
// tags; [Parse] reads them in a program that is to be small.
type Flags struct {
	executionserver.Flags
	standardserver.SandboxFlags
}

// JoinPlugins joins the names after --plugins with commas: clients of OpenHands pass them as
// several arguments.
func JoinPlugins(args []string) []string {
	at := slices.Index(args, "--plugins")
	if at < 0 {
		return args
	}
	end := at + 1
	for end < len(args) && !strings.HasPrefix(args[end], "-") {
		end++
	}
	joined := append(slices.Clone(args[:at]), "--plugins="+strings.Join(args[at+1:end], ","))
	return append(joined, args[end:]...)
}

// Parse reads a command line, whose arguments follow the command. The error is fault.Invalid.
func Parse(args []string) (Flags, error) {
	f := Flags{SandboxFlags: standardserver.SandboxFlags{Grace: 10 * time.Minute, Executor: standard.ClassName}}
	f.UserID, f.Browser = -1, true
	args = JoinPlugins(args)
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		f.Port, args = args[0], args[1:]
	}
	set := flag.NewFlagSet(Command, flag.ContinueOnError)
	set.SetOutput(io.Discard) // the error says it
	f.define(set)
	if err := set.Parse(args); err != nil {
		return Flags{}, fault.Wrap(err, fault.Invalid, "read the flags of the action server")
	}
	if set.NArg() > 0 {
		return Flags{}, fault.New(fault.Invalid, fmt.Sprintf("the action server has no place for the argument %.50q", set.Arg(0)))
	}
	return f, nil
}

// define defines the flags that the tags name.
func (f *Flags) define(set *flag.FlagSet) {
	path := func(to *string) func(string) error {
		return func(value string) (err error) {
			*to, err = filepath.Abs(value)
			return err
		}
	}
	list := func(to *[]string, change func(string) (string, error)) func(string) error {
		return func(value string) error {
			for one := range strings.SplitSeq(value, ",") {
				one, err := change(one)
				if err != nil {
					return err
				}
				*to = append(*to, one)
			}
			return nil
		}
	}
	asItIs := func(value string) (string, error) { return value, nil }
	set.Func("working-dir", "", path(&f.WorkingDir))
	set.Func("plugins", "", list(&f.Plugins, asItIs))
	set.StringVar(&f.Username, "username", f.Username, "")
	set.IntVar(&f.UserID, "user-id", f.UserID, "")
	set.BoolVar(&f.Browser, "enable-browser", f.Browser, "")
	set.BoolFunc("no-enable-browser", "", func(value string) error {
		off, err := strconv.ParseBool(value)
		f.Browser = !off
		return err
	})
	set.StringVar(&f.EvalEnv, "browsergym-eval-env", f.EvalEnv, "")
	set.StringVar(&f.Host, "host", f.Host, "")
	set.Func("file-root", "", list(&f.FileRoot, filepath.Abs))
	set.Func("workspace", "", path(&f.Workspace))
	set.DurationVar(&f.Grace, "grace", f.Grace, "")
	set.StringVar(&f.Executor, "executor", f.Executor, "")
	set.StringVar((*string)(&f.Net), "net", "", "")
	set.BoolVar(&f.Signals, "ignore-signals", f.Signals, "")
	set.BoolVar(&f.SandboxFlags.Program, "own-program", f.SandboxFlags.Program, "")
	set.Func("mask", "", list(&f.Masked, asItIs))
	set.StringVar(&f.Mark, "mark", f.Mark, "")
	set.Func("results", "", path(&f.Results))
}
