package event_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
)

// referencePython returns the interpreter that has the reference installed.
func referencePython(t *testing.T) string {
	t.Helper()
	python := os.Getenv("DEFT_OPENHANDS_PYTHON")
	if python == "" {
		cache, err := os.UserCacheDir() // XDG_CACHE_HOME or ~/.cache
		must.Succeed(t, err)
		python = filepath.Join(cache, "deft-deps", "openhands-1.58", "bin", "python")
	}
	if _, err := os.Stat(python); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the reference is not installed (make deps): %v", err)
		}
		t.Skipf("the reference is not installed (make deps): %v", err)
	}
	return python
}

type verdict struct {
	Kind  string `json:"kind"`
	OK    bool   `json:"ok"`
	Same  bool   `json:"same"`
	Whole bool   `json:"whole"`
	Error string `json:"error"`
}

// accept asks the reference about each line.
func accept(t *testing.T, lines [][]byte) []verdict {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), referencePython(t), "-B", filepath.Join("..", "test", "events", "accept.py"))
	cmd.Stdin = bytes.NewReader(append(bytes.Join(lines, []byte("\n")), '\n'))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1 && stdout.Len() > 0) {
		t.Fatalf("accept.py: %v\n%s", err, stderr.Bytes())
	}
	var verdicts []verdict
	for dec := json.NewDecoder(&stdout); dec.More(); {
		var v verdict
		must.Succeed(t, dec.Decode(&v))
		verdicts = append(verdicts, v)
	}
	if len(verdicts) != len(lines) {
		t.Fatalf("%d verdicts on %d lines\n%s", len(verdicts), len(lines), stderr.Bytes())
	}
	return verdicts
}

// TestReference asks the reference once, because its Python takes seconds to start.
func TestReference(t *testing.T) {
	t.Parallel()
	accepted, judgeAccepted := referenceAccepts(t)
	nulls, judgeNulls := nullsOfReference(t)
	verdicts := accept(t, slices.Concat(accepted, nulls))
	t.Run("accepts", func(t *testing.T) { judgeAccepted(t, verdicts[:len(accepted)]) })
	t.Run("nulls", func(t *testing.T) { judgeNulls(t, verdicts[len(accepted):]) })
}

// referenceAccepts: the reference accepts Go's JSON and writes the same value back.
func referenceAccepts(t *testing.T) (asked [][]byte, judge func(t *testing.T, verdicts []verdict)) {
	t.Helper()
	var lines [][]byte
	var names []string
	add := func(name string, v any) {
		raw, err := encodeAny(v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		lines, names = append(lines, raw), append(names, name)
	}
	for _, g := range goldens(t, "golden/*.json") {
		v, err := decodeAny(g.raw)
		if err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		add("golden "+g.name, v)
	}
	for _, kind := range slices.Concat(event.EventKinds(), event.ActionKinds(), event.ObservationKinds()) {
		if !foreign(kind) {
			add("zero "+kind, zeroValue(kind))
		}
	}
	for i, v := range awkward() {
		add(kindName(v)+" "+string(rune('a'+i)), v)
	}
	// The reference must refuse these, or its accepting would mean nothing.
	wrong := [][]byte{
		[]byte(`{"thought":"x","extra":1,"kind":"ThinkAction"}`),
		[]byte(`{"kind":"ThinkAction"}`),
		[]byte(`{"kind":"NoSuchAction"}`),
		[]byte(`not json`),
	}
	return slices.Concat(lines, wrong), func(t *testing.T, verdicts []verdict) {
		t.Helper()
		for i, v := range verdicts[:len(lines)] {
			if !v.OK {
				t.Errorf("%s refused: %s\n%s", names[i], v.Error, lines[i])
			} else if !v.Same && !amended(v.Kind, lines[i]) {
				t.Errorf("%s read as something else:\n%s", names[i], lines[i])
			}
		}
		for i, v := range verdicts[len(lines):] {
			if v.OK {
				t.Errorf("accepted: %s", wrong[i])
			}
		}
	}
}

// foreign reports kinds that the reference's SDK does not define.
func foreign(kind string) bool {
	return kind == "ServerErrorEvent" || kind == "TestCountAction" || kind == "TestCountObservation"
}

// amended reports values that the reference completes or shortens: it adds a
// classification where there is none, and drops a null command that it needs.
func amended(kind string, line []byte) bool {
	return kind == "AgentErrorEvent" || kind == "ConversationErrorEvent" ||
		kind == "TerminalObservation" && bytes.Contains(line, []byte(`"command":null`))
}

func kindName(v any) string { return v.(interface{ Kind() string }).Kind() }
