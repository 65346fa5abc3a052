package crash_test

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/internal/llmtest"
)

// actions is how many actions with an effect a task has, numbered from 1.
const actions = 30

const task = "append the numbers"

// call is one action with an effect: line n in a file, exactly once.
type call struct {
	name string
	args map[string]any
}

// effect returns the n-th action. Commands differ, so that a kill hits the shell
// before, in and after the effect, or another process.
func effect(ws string, n int) call {
	line := fmt.Sprintf("echo line-%d >> out.txt", n)
	switch n % 6 {
	case 1:
		line += "; sleep 0.05"
	case 2:
		line = "sleep 0.05; " + line
	case 3:
		line = fmt.Sprintf("sh -c 'sleep 0.02; %s; sleep 0.02'", line)
	case 5:
		return call{"file_editor", map[string]any{
			"command": "insert", "path": filepath.Join(ws, fmt.Sprintf("edit%d.txt", n/6%2)), "insert_line": 0,
			"new_str": fmt.Sprintf("line-%d", n),
		}}
	}
	if n == 1 || n == 16 { // background processes, one of them in a session of its own
		line = fmt.Sprintf("tail -f %[1]s/keep >/dev/null 2>&1 & (setsid tail -f %[1]s/keep >/dev/null 2>&1 &); %[2]s", ws, line)
	}
	return call{"terminal", map[string]any{"command": line + fmt.Sprintf("; echo did-%d", n)}}
}

// script answers by history, so that a resumed conversation continues where it
// stopped. Some answers hold several calls; one has no effect and one is refused
// by its tool.
func script(ws string) *llmtest.Script {
	s := newScript()
	turn := s.turn
	for n := 1; n <= actions; n++ {
		switch {
		case n%10 == 4: // one shell, one file, and one that only reads
			turn("A batch.", effect(ws, n), effect(ws, n+1), effect(ws, n+2),
				call{"glob", map[string]any{"pattern": "*.txt"}})
			n += 2
		case n == 20:
			turn("", effect(ws, n), call{"think", map[string]any{"thought": "half way"}},
				call{"file_editor", map[string]any{"command": "view", "path": filepath.Join(ws, "missing")}})
		default:
			turn("", effect(ws, n))
		}
	}
	turn("", call{"finish", map[string]any{"message": "all done"}})
	return s.Script
}

// longRunning is a task whose second action does not end in time.
func longRunning(ws string) *llmtest.Script {
	s := newScript()
	s.turn("", effect(ws, 1))
	s.turn("", call{"terminal", map[string]any{"command": "echo did-2; sleep 1000 & echo line-2 >> out.txt; sleep 1000"}})
	s.turn("", call{"finish", map[string]any{"message": "all done"}})
	return s.Script
}

type scriptBuilder struct{ *llmtest.Script }

func newScript() scriptBuilder {
	return scriptBuilder{&llmtest.Script{ByHistory: true, Defaults: llmtest.Pacing{ChunkSize: 400}}}
}

func (s scriptBuilder) turn(text string, calls ...call) {
	r := llmtest.Reply{Text: text}
	for _, c := range calls {
		r.ToolCalls = append(r.ToolCalls, llmtest.ToolCall{Name: c.name, Arguments: c.args})
	}
	s.Turns = append(s.Turns, llmtest.Turn{Reply: r})
}

// shownBy is the text that the observation of the n-th action must contain.
func shownBy(n int) string {
	if n%6 == 5 {
		return fmt.Sprintf("line-%d", n)
	}
	return fmt.Sprintf("did-%d", n)
}

// numberOf returns which action with an effect the arguments of a call are,
// or 0.
func numberOf(args string) int {
	_, rest, ok := strings.Cut(args, "line-")
	if !ok {
		return 0
	}
	var n int
	if _, err := fmt.Sscanf(rest, "%d", &n); err != nil {
		return 0
	}
	return n
}
