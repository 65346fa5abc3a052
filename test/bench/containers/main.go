// Command containers measures sandboxes: cold starts of containers, in Docker's usual runtime
// and in gVisor, beside a container with the least that answers, and of gVisor without Docker;
// an action's round trip; memory; and many process sandboxes at once.
//
// Usage: go run ./test/bench/containers -deft bin/deft [-docker unix:///…] [-image NAME] [-runsc PATH]
//
// The binary must be static. Rows whose part is not there are printed as not measured. Reading
// the memory of the programs inside needs root. Any other failure ends it: a wrong number is
// worse than none.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// bench is the start of all measurements.
type bench struct {
	deft   string // the binary
	inner  string // its program in sandboxes
	server string // testdata/server, built
	dir    string
	docker string // the engine's address; empty for none
	image  string
	runsc  string // path; empty for none
	runs   int
	many   int
	w      *tabwriter.Writer
}

func main() {
	var b bench
	flag.StringVar(&b.deft, "deft", "bin/deft", "the binary to measure")
	flag.StringVar(&b.docker, "docker", "", "address of a Docker engine")
	flag.StringVar(&b.image, "image", "deft-test-busybox:1", "image for containers")
	flag.StringVar(&b.runsc, "runsc", "", "path of gVisor's runsc, to measure it without Docker")
	flag.IntVar(&b.runs, "runs", 20, "containers of each kind to start, one after the other")
	flag.IntVar(&b.many, "sandboxes", 200, "process sandboxes to start at once")
	flag.Parse()
	if err := b.measure(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) measure(ctx context.Context) (err error) {
	if b.deft, err = filepath.Abs(b.deft); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "deft-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if err := os.Chmod(b.dir, 0o755); err != nil { // users of containers enter it
		return err
	}
	out, err := exec.CommandContext(ctx, b.deft, "dev", "sandbox-program", filepath.Join(b.dir, "program")).Output()
	if err != nil {
		return fmt.Errorf("get the program of sandboxes (make build): %w", err)
	}
	b.inner = strings.TrimSpace(string(out))
	b.server = filepath.Join(b.dir, "server")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", b.server, "github.com/deft-dev/deft/test/bench/containers/testdata/server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the server to compare with: %w\n%s", err, out)
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err
	}
	fmt.Printf("load average before: %s", load)
	b.w = tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(b.w, "what\tbudget\tmeasured")
	for _, m := range []func(context.Context) error{b.engineRows, b.runscRows, b.processRows} {
		if err := m(ctx); err != nil {
			return errors.Join(b.w.Flush(), err)
		}
	}
	if err := b.w.Flush(); err != nil {
		return err
	}
	fmt.Print(note)
	return nil
}

// note names the extra work of a start beside the plain server's.
const note = `
Beside the server a sandbox has a first stage, which makes its descriptors and loads the filter,
mounts for the workspace and its own files, and the terminal's shell, which the plain server has
none of.
`

func (b *bench) row(what, budget, measured string) {
	fmt.Fprintf(b.w, "%s\t%s\t%s\n", what, budget, measured)
}

// engineRows are the rows that need an engine.
func (b *bench) engineRows(ctx context.Context) error {
	if b.docker == "" {
		b.row("containers", "", "not measured: no engine")
		return nil
	}
	e, err := b.engine(b.inner)
	if err != nil {
		return err
	}
	defer e.close()
	if err := e.starts(ctx, "Docker", ""); err != nil {
		return fmt.Errorf("cold starts: %w", err)
	}
	if err := b.memory(ctx); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	known, err := e.provider.Engine(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(known.Runtimes, "runsc") {
		b.row("gVisor through Docker", "<= 1.15x", "not measured: the engine has no runtime runsc (make deps)")
		return nil
	}
	if err := e.starts(ctx, "gVisor through Docker", "runsc"); err != nil {
		return fmt.Errorf("cold starts in gVisor: %w", err)
	}
	return nil
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func mb(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

func median[T int64 | time.Duration](all []T) T {
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

// spread are the median and the ninth decile.
func spread(all []time.Duration) string {
	return fmt.Sprintf("p50 %s, p90 %s", ms(median(all)), ms(slices.Sorted(slices.Values(all))[len(all)*9/10]))
}

// parts is spread, and how much of the median is the provider's start: the rest is the
// connection, the terminal's shell and the command.
func parts(took, starts []time.Duration) string {
	return fmt.Sprintf("%s, of that Start %s", spread(took), ms(median(starts)))
}
