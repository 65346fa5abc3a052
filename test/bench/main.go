// Command bench measures Deft end to end, as a user sees it: the built binary, a
// real HTTP server in the place of the LLM, the real sandbox. It prints a table of
// the budgets, the measured values, and, where it is installed, the values of
// OpenHands' SDK for the same on this machine.
//
// Usage: go run ./test/bench -deft bin/deft [-openhands python]
//
// It measures one thing at a time. Any failure ends it: a wrong number is worse
// than none.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
)

// row is a line of the table.
type row struct{ what, budget, got, peer string }

func main() {
	deft := flag.String("deft", "bin/deft", "the binary to measure")
	python := flag.String("openhands", "", "python of an environment with openhands-sdk 1.58, to compare with")
	runs := flag.Int("runs", 30, "starts to measure")
	flag.Parse()
	if err := measure(context.Background(), *deft, *python, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, deft, python string, runs int) error {
	bin, err := filepath.Abs(deft)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "deft-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{bin: bin, dir: dir, python: python}
	if err := b.server(ctx); err != nil {
		return err
	}
	defer b.http.Close()
	var rows []row
	for _, m := range []func(context.Context, int) ([]row, error){b.fromStart, b.steps, b.subAgents, b.longConversation, b.browsing, b.cells} {
		got, err := m(ctx, runs)
		if err != nil {
			return err
		}
		rows = append(rows, got...)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tbudget\tmeasured\topenhands-sdk 1.58")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.what, r.budget, r.got, r.peer)
	}
	return w.Flush()
}
