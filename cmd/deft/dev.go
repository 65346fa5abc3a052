package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/sandbox/program"
)

// devCmd holds commands for developers of Deft.
type devCmd struct {
	ScriptedLLM scriptedCmd       `cmd:"" name:"scripted-llm" help:"Serve the protocols of LLM providers from a script, to try any client offline."`
	Program     sandboxProgramCmd `cmd:"" name:"sandbox-program" help:"Write the program that runs in sandboxes below a directory, and print its path."`
}

type scriptedCmd struct {
	Script  string `arg:"" optional:"" help:"YAML script; --example prints one." type:"existingfile"`
	Addr    string `help:"Address to listen on." default:"127.0.0.1:8181"`
	Example bool   `help:"Print a script that works with deft run, and nothing else."`
}

// Help is shown by --help.
func (c *scriptedCmd) Help() string {
	return `  deft dev scripted-llm --example > script.yaml
  deft dev scripted-llm script.yaml`
}

// Run serves until Ctrl-C.
func (c *scriptedCmd) Run(ctx context.Context, std *streams) error {
	if c.Example {
		_, err := std.Out.Write(llmtest.Example)
		return err
	}
	if c.Script == "" {
		return fault.New(fault.Invalid, "there is no script").Hint("--example prints one")
	}
	script, err := llmtest.Load(c.Script)
	if err != nil {
		return err
	}
	s, err := llmtest.New(script, llmtest.Options{})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ln, err := s.Listen(ctx, c.Addr)
	if err != nil {
		return cannotListen(c.Addr, "--addr", err)
	}
	fmt.Fprintf(std.Out, "listening on http://%s\n", ln.Addr())
	fmt.Fprintf(std.Err, "  deft run --model openai/scripted --base-url http://%s/v1 \"…\"\n", ln.Addr())
	return s.Serve(ctx, ln)
}

// sandboxProgram is the program that runs in sandboxes: the small one, unless executors are
// linked into this binary, which only this one has.
func sandboxProgram(dir string) (path string, install func() error, err error) {
	if len(linkedIn) > 0 {
		return "", nil, nil
	}
	return program.Find(dir)
}

type sandboxProgramCmd struct {
	Dir string `arg:"" help:"Directory to write it to."`
}

// Run writes the program.
func (c *sandboxProgramCmd) Run(_ context.Context, std *streams) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "find the directory")
	}
	path, install, err := sandboxProgram(dir)
	if err != nil {
		return err
	}
	if path != "" {
		err = install()
	} else {
		err = fault.New(fault.Unsupported, "this binary runs itself in sandboxes").Hint("it was built by the go command alone, or with packages of others")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.Out, path)
	return err
}
