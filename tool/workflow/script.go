package workflow

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
	"golang.org/x/sys/unix"
)

// maxSeconds is the processor time of a script, and maxSteps bounds each of its threads.
const (
	maxSeconds = 60
	maxSteps   = 50_000_000
)

func init() {
	if len(os.Args) != 2 || os.Args[1] != arg {
		return
	}
	_ = unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: maxSeconds, Max: maxSeconds}) // else the steps bound it
	serveScript(os.Stdin, os.Stdout)
	os.Exit(0)
}

// serveScript runs the script that it reads, and writes its parts and its end.
func serveScript(in io.Reader, out io.Writer) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	if !lines.Scan() {
		return
	}
	var r request
	s := &script{out: json.NewEncoder(out), waiting: map[int]chan answer{}}
	if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
		s.say(asked{Error: "read the script: " + err.Error()})
		return
	}
	s.free = make(chan struct{}, max(r.Most, 1))
	go s.listen(lines)
	text, err := s.run(r.Script)
	if err != nil {
		s.say(asked{Error: err.Error()})
		return
	}
	s.say(asked{Result: &text})
}

// script is a script that runs. Its Starlark code runs in one goroutine at a time, so that
// the stages of a pipeline may share values; it waits for sub-agents without running.
type script struct {
	free    chan struct{} // a place for each sub-agent that works
	running sync.Mutex

	mu      sync.Mutex
	out     *json.Encoder
	last    int
	waiting map[int]chan answer
}

func (s *script) say(line asked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(line) // nobody reads it any more
}

// listen passes answers on. Without the other process there is nothing left to do.
func (s *script) listen(lines *bufio.Scanner) {
	for lines.Scan() {
		var a answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			continue
		}
		s.mu.Lock()
		to := s.waiting[a.ID]
		delete(s.waiting, a.ID)
		s.mu.Unlock()
		if to != nil {
			to <- a
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, to := range s.waiting {
		to <- answer{Error: "the workflow was ended"}
	}
	clear(s.waiting)
}

// part has a sub-agent do a part, within a bound on how many work at a time.
func (s *script) part(free chan struct{}, p Part) (string, error) {
	free <- struct{}{}
	defer func() { <-free }()
	got := make(chan answer, 1)
	s.mu.Lock()
	s.last++
	id := s.last
	s.waiting[id] = got
	s.mu.Unlock()
	s.say(asked{ID: id, Part: &p})
	a := <-got
	if a.Error != "" {
		return "", errors.New(a.Error)
	}
	return a.Text, nil
}

// language is the language: without recursion and while, so that each loop ends.
var language = &syntax.FileOptions{Set: true, TopLevelControl: true, GlobalReassign: true}

const mustDefine = "the script must define one function main(wf)"

// run runs a script and returns the result of its main function.
func (s *script) run(text string) (string, error) {
	s.running.Lock()
	defer s.running.Unlock()
	thread := newThread()
	globals, err := starlark.ExecFileOptions(language, thread, "workflow", plain(text), nil)
	if err != nil {
		return "", worded(err)
	}
	main, ok := globals["main"].(*starlark.Function)
	if !ok || main.NumParams() != 1 || main.HasVarargs() || main.HasKwargs() {
		return "", errors.New(mustDefine)
	}
	if name, _ := main.Param(0); name != "wf" {
		return "", errors.New(mustDefine)
	}
	result, err := starlark.Call(thread, main, starlark.Tuple{workflow{s}}, nil)
	if err != nil {
		return "", worded(err)
	}
	return textOf(result), nil
}

func newThread() *starlark.Thread {
	t := &starlark.Thread{Name: "workflow", Print: func(*starlark.Thread, string) {}}
	t.SetMaxExecutionSteps(maxSteps)
	return t
}

// worded adds where an error has happened, and to a mistake of the syntax what the language is.
func worded(err error) error {
	if evaluation, ok := errors.AsType[*starlark.EvalError](err); ok {
		return errors.New(evaluation.Backtrace())
	}
	_, unknown := errors.AsType[resolve.ErrorList](err)
	if _, ok := errors.AsType[syntax.Error](err); ok || unknown {
		return errors.New(err.Error() + "\nThe language is Starlark: it has no imports, classes, while, try or f-strings.")
	}
	return err
}

// textOf is a value as a text: a string as it is.
func textOf(v starlark.Value) string {
	if s, ok := starlark.AsString(v); ok {
		return s
	}
	return v.String()
}
