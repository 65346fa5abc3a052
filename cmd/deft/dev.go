package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/deft-dev/deft/internal/llmtest"
)

// devCmd holds what developers of Deft need.
type devCmd struct {
	ScriptedLLM scriptedCmd `cmd:"" name:"scripted-llm" help:"Serve the protocols of LLM providers from a script, to try any client offline."`
}

type scriptedCmd struct {
	Script string `arg:"" help:"YAML script; see internal/llmtest for its form." type:"existingfile"`
	Addr   string `help:"Address to listen on." default:"127.0.0.1:8181"`
}

// Run serves until Ctrl-C.
func (c *scriptedCmd) Run(ctx context.Context, std *streams) error {
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
		return fmt.Errorf("listen on %s: %w", c.Addr, err)
	}
	fmt.Fprintf(std.out, "listening on http://%s\n", ln.Addr())
	fmt.Fprintf(std.err, "  deft run --model openai/scripted --base-url http://%s/v1 \"…\"\n", ln.Addr())
	return s.Serve(ctx, ln)
}
