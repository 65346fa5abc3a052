// Command watch prints the events of go test -json as go test alone does, and names the tests
// that run when none has said anything for five minutes: a test that hangs is known long
// before go test gives up.
//
// # Usage
//
//	go test -json ./... | go run ./test/run/watch
//
// # Failure
//
// It reads to the end whatever comes; the exit code is go test's (set -o pipefail).
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// quiet is how long tests may say nothing before their names are printed.
const quiet = 5 * time.Minute

func main() { watch(os.Stdin, os.Stdout) }

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output string
}

// test is a test of a package, or a package.
type test struct{ pkg, name string }

// report is the output so far that is not printed.
type report struct {
	out     io.Writer
	running map[test]time.Time // since when
	said    map[test][]string
}

func watch(in io.Reader, out io.Writer) {
	lines := make(chan string)
	go func() {
		defer close(lines)
		r := bufio.NewReader(in)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	r := &report{out: out, running: map[test]time.Time{}, said: map[test][]string{}}
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return
			}
			var e event
			if err := json.Unmarshal([]byte(line), &e); err != nil { // of go itself
				fmt.Fprint(out, line)
				continue
			}
			r.add(e)
		case <-time.After(quiet):
			r.name()
		}
	}
}

func (r *report) add(e event) {
	id := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") { // RUN, PAUSE, CONT, NAME
			r.said[id] = append(r.said[id], e.Output)
		}
	case "start", "run", "cont":
		r.running[id] = time.Now()
	case "pause":
		delete(r.running, id)
	case "pass", "skip", "fail":
		delete(r.running, id)
		if e.Test == "" {
			r.end(e.Package, e.Action == "fail")
		} else if e.Action == "fail" {
			fmt.Fprint(r.out, strings.Join(r.said[id], ""))
		}
		delete(r.said, id)
	}
}

// end prints the result of a package, and of one that failed all that is left: tests that ran
// when it broke off.
func (r *report) end(pkg string, failed bool) {
	for id, said := range r.said {
		if id.pkg != pkg {
			continue
		}
		if failed && id.name != "" {
			fmt.Fprint(r.out, strings.Join(said, ""))
		}
		if id.name != "" {
			delete(r.said, id)
			delete(r.running, id)
		}
	}
	for _, line := range r.said[test{pkg: pkg}] {
		if failed || strings.HasPrefix(line, "ok ") {
			fmt.Fprint(r.out, line)
		}
	}
}

// name prints which tests run, and since when; of a test with subtests these alone.
func (r *report) name() {
	var names []string
	for id, since := range r.running {
		leaf := true
		for other := range r.running {
			leaf = leaf && (other.pkg != id.pkg || other.name == id.name || !strings.HasPrefix(other.name, id.name))
		}
		if leaf {
			names = append(names, fmt.Sprintf("\t%s %s for %s\n", id.pkg, id.name, time.Since(since).Round(time.Second)))
		}
	}
	slices.Sort(names)
	fmt.Fprintf(r.out, "no test has said anything for %s; these run:\n%s", quiet, strings.Join(names, ""))
}
