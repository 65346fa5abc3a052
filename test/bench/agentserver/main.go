// Command agentserver measures `deft agent-server` as its clients see it:
// the built binary, REST and WebSockets, real shells, a real HTTP server in
// place of the LLM. Where it is installed, the reference does the same on
// the same machine in the same run, and the ratio is printed.
//
// Usage: go run ./test/bench/agentserver -deft bin/deft [-openhands python]
//
// Any failure ends it: a wrong number is worse than none.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"
)

// row is a line of the table.
type row struct{ what, budget, got, peer, ratio string }

// bench is one measurement session.
type bench struct {
	dir    string
	deft   string // the binary
	python string // of the reference; "" where it is not installed
	many   int    // conversations in the largest store
	llm    *llm
	rows   []row
}

func main() {
	deft := flag.String("deft", "bin/deft", "the binary to measure")
	python := flag.String("openhands", "", "python of an environment with openhands-agent-server 1.58, to compare with")
	only := flag.String("only", "", "comma-separated parts: start, turns, stored, long, load, fanout (default: all)")
	many := flag.Int("stored", 10_000, "conversations in the largest store of the part stored")
	health := flag.String("health", "", "ask this URL until the input ends; for the program itself")
	flag.Parse()
	if *health != "" {
		if err := askHealth(*health); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	debug.SetGCPercent(800) // clients and the LLM take their time from the same cores
	if err := (&bench{python: *python, many: *many}).measure(context.Background(), *deft, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) measure(ctx context.Context, deft, only string) (err error) {
	if b.deft, err = filepath.Abs(deft); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "deft-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.llm, err = newLLM(ctx); err != nil {
		return err
	}
	defer b.llm.close()
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"start", b.start}, {"turns", b.turns}, {"stored", b.stored}, {"long", b.long}, {"load", b.load}, {"fanout", b.fanOut},
	} {
		if only != "" && !strings.Contains(","+only+",", ","+part.name+",") {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring:", part.name)
		if err := part.run(ctx); err != nil {
			b.showLogs()
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tbudget\tmeasured\treference 1.58\tratio")
	for _, r := range b.rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.what, r.budget, r.got, r.peer, r.ratio)
	}
	return w.Flush()
}

// row adds a line. peer is 0 where the reference was not measured.
func (b *bench) row(what, budget string, got, peer time.Duration) {
	r := row{what: what, budget: budget, got: ms(got), peer: "-", ratio: "-"}
	if peer > 0 {
		r.peer, r.ratio = ms(peer), fmt.Sprintf("%.0f", float64(peer)/float64(got))
	}
	b.rows = append(b.rows, r)
}

// note adds a line of text.
func (b *bench) note(what, budget, got string) {
	b.rows = append(b.rows, row{what: what, budget: budget, got: got, peer: "-", ratio: "-"})
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

// showLogs prints the ends of the servers' logs.
func (b *bench) showLogs() {
	logs, _ := filepath.Glob(filepath.Join(b.dir, "*", "*.log")) // the pattern is right
	for _, name := range logs {
		raw, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s:\n%s\n", name, raw[max(0, len(raw)-4000):])
	}
}
