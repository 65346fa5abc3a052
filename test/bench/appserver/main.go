// Command appserver measures `deft serve` as its clients see it: the built binary over
// HTTP and WebSockets, with SQLite and PostgreSQL, and a real HTTP server in place of the
// LLM.
//
// Usage: go run ./test/bench/appserver -deft bin/deft [-postgres URL] [-docker unix://SOCKET] [-image NAME] [-only parts]
//
// Any failure ends it: a wrong number is worse than none. A schema of its own is made in
// the PostgreSQL database, and dropped at the end.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// bench is one measurement session.
type bench struct {
	dir      string
	deft     string // the binary
	postgres string // URL of a database; "" for none
	docker   string // address of an engine; "" for none
	image    string // of containers
	llm      *llm
	rows     [][3]string
}

func main() {
	var b bench
	deft := flag.String("deft", "bin/deft", "the binary to measure")
	flag.StringVar(&b.postgres, "postgres", "", "URL of a PostgreSQL database in which a schema may be made")
	flag.StringVar(&b.docker, "docker", "", "address of a Docker engine")
	flag.StringVar(&b.image, "image", "deft-test-busybox:1", "image for containers")
	only := flag.String("only", "", "comma-separated parts: stored, start, forward, many, postgres (default: all)")
	flag.Parse()
	debug.SetGCPercent(400) // clients take their time from the same cores
	if err := b.measure(context.Background(), *deft, *only); err != nil {
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
	}{{"stored", b.stored}, {"start", b.start}, {"forward", b.forward}, {"many", b.many}, {"postgres", b.twoServers}} {
		if only != "" && !slices.Contains(strings.Split(only, ","), part.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring:", part.name)
		if err := part.run(ctx); err != nil {
			b.showLogs()
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tbudget\tmeasured")
	for _, r := range b.rows {
		fmt.Fprintln(w, strings.Join(r[:], "\t"))
	}
	return w.Flush()
}

// row adds a line.
func (b *bench) row(what, budget string, got time.Duration) {
	b.note(what, budget, fmt.Sprintf("%.2f ms", float64(got.Microseconds())/1000))
}

// note adds a line of text.
func (b *bench) note(what, budget, got string) { b.rows = append(b.rows, [3]string{what, budget, got}) }

// showLogs prints the ends of the servers' logs.
func (b *bench) showLogs() {
	logs, _ := filepath.Glob(filepath.Join(b.dir, "*", "*.log")) // the pattern is right
	for _, name := range logs {
		if raw, err := os.ReadFile(name); err == nil {
			fmt.Fprintf(os.Stderr, "%s:\n%s\n", name, raw[max(0, len(raw)-4000):])
		}
	}
}

func quantile(d []time.Duration, q float64) time.Duration {
	s := slices.SortedFunc(slices.Values(d), cmp.Compare[time.Duration])
	return s[min(len(s)-1, int(float64(len(s))*q))]
}
