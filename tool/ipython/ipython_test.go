package ipython_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/ipython"
	"github.com/deft-dev/deft/tool/ipython/kerneltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// notebook has a kernel.
type notebook struct {
	t testing.TB
	tool.Executor
}

func open(t testing.TB, env []string) *notebook {
	t.Helper()
	n := &notebook{t, ipython.New(ipython.Config{Dir: t.TempDir(), Env: env})}
	t.Cleanup(func() { must.Report(t, n.Close()) })
	return n
}

func (n *notebook) cell(ctx context.Context, c tool.Call) *ipython.Observation {
	n.t.Helper()
	if c.Progress == nil {
		c.Progress = func(tool.Chunk) {}
	}
	obs, err := n.Execute(ctx, c)
	must.Succeed(n.t, err)
	return obs.(*ipython.Observation)
}

// run runs a cell and returns its text.
func (n *notebook) run(code string) (text string, failed bool) {
	n.t.Helper()
	obs := n.cell(n.t.Context(), tool.Call{Action: &ipython.Action{Code: code}})
	return event.JoinText(obs.Content), obs.IsError
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// TestCells runs cells one after another in one kernel.
func TestCells(t *testing.T) {
	t.Parallel()
	n := open(t, kerneltest.Environment(t))
	for _, c := range []struct {
		code, want string
		failed     bool
	}{
		{"x = 6", "[The cell has no output.]", false},
		{"print('answer:', end=' ')\nx * 7", "answer: \n42", false},
		{"1/0", "ZeroDivisionError: division by zero", true},
		{"x", "6", false}, // the state is kept
		{"%history 1-2", "x = 6\nprint('answer:', end=' ')\nx * 7", false},
		{"def f(:", "SyntaxError", true},
		{"input('name?')", "[Nobody answers input(). Put the values into the code.]", true},
		{"import sys; print('to', file=sys.stderr)", "to", false},
		{"for i in range(3): print(f'\\r{i} of 3', end='')", "2 of 3", false},
		{"print('\\x1b[31mred\\x1b[0m')", "red", false},
		{"!echo from a shell", "from a shell", false},
		{"import os; os.getcwd() == os.environ.get('PWD', os.getcwd())", "True", false},
		{" ", "The cell is empty.", true},
	} {
		text, failed := n.run(c.code)
		if failed != c.failed || !strings.Contains(text, c.want) || strings.Contains(text, "\x1b") {
			t.Errorf("%s: %q, failed %v, want %q", c.code, text, failed, c.want)
		}
	}
	text, _ := n.run("print('b' + 'é' * 50_000 + 'e')")
	if r := []rune(text); len(r) > ipython.MaxOutput+60 || r[0] != 'b' || r[len(r)-1] != 'e' || !strings.Contains(text, "[… 20003 characters left out here …]") {
		t.Errorf("a long output has %d characters: %.20s … %s", len(r), text, string(r[len(r)-20:]))
	}
}

// TestImages shows the pictures of a cell, and no more than its limit.
func TestImages(t *testing.T) {
	t.Parallel()
	n := open(t, kerneltest.Environment(t))
	code := "from IPython.display import display, Image\nimport base64\npixel = Image(data=base64.b64decode('" + pixel + "'))\n"
	obs := n.cell(t.Context(), tool.Call{Action: &ipython.Action{Code: code + "print('one'); display(pixel)"}})
	if len(obs.Content) != 2 || obs.Content[0].Text != "one" || len(obs.Content[1].ImageURLs) != 1 || obs.Content[1].ImageURLs[0] != "data:image/png;base64,"+pixel {
		t.Errorf("content: %+v", obs.Content)
	}
	obs = n.cell(t.Context(), tool.Call{Action: &ipython.Action{Code: "for i in range(9): display(pixel)"}})
	if len(obs.Content) != 6 || !strings.Contains(obs.Content[0].Text, "[4 more images are not shown") {
		t.Errorf("many: %d, %q", len(obs.Content), obs.Content[0].Text)
	}
}

// TestTables shows what an object for notebooks has to say.
func TestTables(t *testing.T) {
	t.Parallel()
	n := open(t, kerneltest.Environment(t))
	for code, want := range map[string]string{
		"from IPython.display import Markdown; Markdown('| month | sales |\\n|---|---|\\n| Jan | 12 |')":                                   "| month | sales |\n|---|---|\n| Jan | 12 |",
		"from IPython.display import HTML; HTML('<table><tr><td>12</td></tr></table>')":                                                    "<table><tr><td>12</td></tr></table>",
		"from IPython.display import Javascript; object.__new__(type('T', (), {'__repr__': lambda s: '<IPython.core.display.X object>'}))": "<IPython.core.display.X object>",
	} {
		if text, failed := n.run(code); text != want || failed {
			t.Errorf("%s: %q", code, text)
		}
	}
	obs := n.cell(t.Context(), tool.Call{Action: &ipython.Action{Code: `class Frame:
    def __init__(self, rows): self.rows = rows
    def _repr_html_(self): return '<div><table>' + '<tr><td>12</td></tr>' * self.rows + '</table></div>'
    def __repr__(self): return f'{self.rows} rows'
for rows in (1, 10_000, 2, 2, 2, 2, 2): display(Frame(rows))`}})
	if got := obs.Content[0].Text; got != "1 rows\n10000 rows\n"+strings.Repeat("2 rows\n", 4)+"2 rows" {
		t.Errorf("the model has %q", got)
	}
	if len(obs.Tables) != 5 || obs.Tables[0] != "<div><table><tr><td>12</td></tr></table></div>" { // the large one is left out
		t.Errorf("people have %q", obs.Tables)
	}
	obs = n.cell(t.Context(), tool.Call{Action: &ipython.Action{Code: `from IPython.display import Markdown
for text in ('| a |\n|---|\n| 1 |', 'a | b\n:--|--:\n1 | 2', '# no table', 'a | b', '---', '- |', '| a |\n|---|\n' + '| 1 |\n' * 20_000): display(Markdown(text))`}})
	if want := []string{"| a |\n|---|\n| 1 |", "a | b\n:--|--:\n1 | 2"}; !slices.Equal(obs.Markdown, want) || len(obs.Tables) > 0 {
		t.Errorf("Markdown for people: %q, %q", obs.Markdown, obs.Tables)
	}
}

// TestFlood holds the bounds of a cell's output, in each form.
func TestFlood(t *testing.T) {
	t.Parallel()
	n := open(t, kerneltest.Environment(t))
	for name, c := range map[string]struct{ code, want string }{
		"one print":   {"print('x' * 100_000_000 + 'end')", "end"},
		"many prints": {"for i in range(100): print('y' * 1_000_000)\nprint('end')", "end"},
		"a value":     {"'z' * 100_000_000", "z'"},
		"an image":    {"from IPython.display import display, Image; display(Image(data=b'\\x89PNG\\r\\n\\x1a\\n' + b'0' * 9_000_000, format='png'))", "[1 more images are not shown: a cell shows 5, of up to 5 MB each.]"},
		"characters":  {"print('\\udcff\\x00 end')", "end"},
	} {
		text, failed := n.run(c.code)
		if failed || !strings.HasSuffix(text, c.want) || len(text) > 2*ipython.MaxOutput {
			t.Errorf("%s: %d bytes, failed %v: …%s", name, len(text), failed, text[max(0, len(text)-200):])
		}
	}
	if text, _ := n.run("print('as before')"); text != "as before" {
		t.Errorf("after them: %q", text)
	}
}

// TestSecrets has a cell see the secrets of its call, and later ones not.
func TestSecrets(t *testing.T) {
	t.Parallel()
	n := open(t, kerneltest.Environment(t))
	code := "import os; print(os.environ.get('TOKEN'))"
	obs := n.cell(t.Context(), tool.Call{Action: &ipython.Action{Code: code}, Secrets: tool.Secrets{"TOKEN": `a "quoted" \ value`}})
	if got := event.JoinText(obs.Content); got != `a "quoted" \ value` {
		t.Errorf("with a secret: %q", got)
	}
	if got, _ := n.run(code); got != "None" {
		t.Errorf("after it: %q", got)
	}
	own := "import os; print(os.environb[b'HOME'] == b'a\\xffb')"
	if obs := n.cell(t.Context(), tool.Call{Action: &ipython.Action{Code: own}, Secrets: tool.Secrets{"HOME": "a\xffb"}}); event.JoinText(obs.Content) != "True" {
		t.Errorf("a secret with the name of a variable: %q", event.JoinText(obs.Content))
	}
	if got, _ := n.run("os.path.isdir(os.environ['HOME'])"); got != "True" {
		t.Errorf("the variable after it: %q", got)
	}
}

// TestStops ends cells that do not end: by their time, by the user, and with the kernel.
func TestStops(t *testing.T) {
	t.Parallel()
	n := open(t, kerneltest.Environment(t))
	if _, failed := n.run("kept = 5"); failed {
		t.Error("the first cell failed")
	}
	half := 0.5
	obs := n.cell(t.Context(), tool.Call{Action: &ipython.Action{Code: "while True: pass", Timeout: &half}})
	if text := event.JoinText(obs.Content); !obs.Timeout || !obs.IsError || !strings.HasSuffix(text, "[The cell was interrupted: it ran longer than 0.5 seconds.]") {
		t.Errorf("too long: %q", text)
	}
	if text, _ := n.run("kept"); text != "5" {
		t.Errorf("after it: %q", text)
	}

	ctx, cancel := context.WithCancel(t.Context())
	obs = n.cell(ctx, tool.Call{Action: &ipython.Action{Code: "import time\nprint('begun', flush=True)\ntime.sleep(3600)"}, Progress: func(c tool.Chunk) { cancel() }})
	if text := event.JoinText(obs.Content); obs.Timeout || !obs.IsError || !strings.HasSuffix(text, "[The user has interrupted the cell.]") {
		t.Errorf("interrupted: %q", text)
	}
	if text, failed := n.run("kept"); text != "5" || failed {
		t.Errorf("after it: %q", text)
	}

	text, failed := n.run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
	if !failed || !strings.Contains(text, "[The kernel has died (signal: killed). The next cell has a fresh kernel: variables and imports are gone.]") {
		t.Errorf("a kernel that dies: %q", text)
	}
	if text, failed := n.run("'kept' in globals()"); !strings.HasSuffix(text, "False") || failed || !strings.HasPrefix(text, "[The kernel had ended (signal: killed).") {
		t.Errorf("a fresh kernel: %q", text)
	}
	text, failed = n.run("import os, subprocess; subprocess.Popen(['sleep', '1000']); os._exit(0)")
	if !failed || !strings.Contains(text, "[The kernel has died (exit status 0).") {
		t.Errorf("a kernel that ends, and leaves a program behind: %q", text)
	}
}

// TestIgnoredInterrupt ends a kernel whose cell takes no interrupt.
func TestIgnoredInterrupt(t *testing.T) {
	t.Parallel()
	n := open(t, kerneltest.Environment(t))
	half := 0.5
	obs := n.cell(t.Context(), tool.Call{Action: &ipython.Action{Timeout: &half, Code: "import time\nwhile True:\n  try: time.sleep(3600)\n  except KeyboardInterrupt: pass"}})
	if text := event.JoinText(obs.Content); !obs.IsError || !strings.Contains(text, "It did not stop, and the kernel was ended. The next cell has a fresh kernel") {
		t.Errorf("it took the interrupt: %q", text)
	}
}

// TestMissing says what to do where Python or its kernel is missing: each command and flag works there.
func TestMissing(t *testing.T) {
	t.Parallel()
	if text, failed := open(t, []string{"PATH=" + t.TempDir()}).run("1"); !failed || !strings.Contains(text, "There is no Python here") ||
		!strings.Contains(text, "install -y --no-install-recommends python3-ipykernel") || !strings.Contains(text, "--net=debian") {
		t.Errorf("no Python: %q", text)
	}
	for said, want := range map[string]string{
		"pip\nfree":    "python3 -m pip install ipykernel. A sandbox needs the hosts of PyPI for that; the user can allow them with deft's flag --net=pypi.",
		"pip\nmanaged": "python3 -m pip install --break-system-packages ipykernel. ",
		"none\nfree":   "nor pip. Where the system can be changed",
	} {
		bin := t.TempDir()
		script := "#!/bin/sh\nif [ \"$1\" = -c ]; then printf '" + strings.ReplaceAll(said, "\n", "\\n") + "\\n'; exit; fi\necho \"$0: No module named ipykernel_launcher\" >&2\nexit 1\n"
		must.Succeed(t, os.WriteFile(filepath.Join(bin, "python3"), []byte(script), 0o755))
		if text, failed := open(t, []string{"PATH=" + bin + ":/bin:/usr/bin"}).run("1"); !failed || !strings.Contains(text, want) {
			t.Errorf("%q: %q, want %q", said, text, want)
		}
	}
}

// TestManaged asks a Python whose system keeps its packages to itself, as Debian's does.
func TestManaged(t *testing.T) {
	t.Parallel()
	const python = "/usr/bin/python3"
	out, err := exec.CommandContext(t.Context(), python, "-c", "import importlib.util, os, sysconfig; print(importlib.util.find_spec('ipykernel') is None and importlib.util.find_spec('pip') is not None and os.path.exists(sysconfig.get_path('stdlib') + '/EXTERNALLY-MANAGED'))").Output()
	if err != nil || strings.TrimSpace(string(out)) != "True" {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not such a Python with pip and without a kernel: %s, %v", python, out, err)
		}
		t.Skipf("%s is not such a Python with pip and without a kernel: %s, %v", python, out, err)
	}
	if text, failed := open(t, []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}).run("1"); !failed || !strings.Contains(text, python+" -m pip install --break-system-packages ipykernel") {
		t.Errorf("%q", text)
	}
}

// TestPipInSandbox has pip of a cell add to the packages of the system in a sandbox, and ask elsewhere.
func TestPipInSandbox(t *testing.T) {
	t.Parallel()
	for isolated, want := range map[bool]string{true: "'1'", false: "None"} {
		n := &notebook{t, ipython.New(ipython.Config{Dir: t.TempDir(), Env: kerneltest.Environment(t), Isolated: isolated})}
		t.Cleanup(func() { must.Report(t, n.Close()) })
		if text, _ := n.run("import os; print(repr(os.environ.get('PIP_BREAK_SYSTEM_PACKAGES')))"); text != want {
			t.Errorf("isolated %v: %s, want %s", isolated, text, want)
		}
	}
}

// TestAgents gives each agent a kernel of its own.
func TestAgents(t *testing.T) {
	t.Parallel()
	n := open(t, kerneltest.Environment(t))
	for i, agent := range []string{"", "other"} {
		obs := n.cell(t.Context(), tool.Call{Agent: agent, Action: &ipython.Action{Code: fmt.Sprintf("'x' in globals() or globals().update(x=%d) or x", i)}})
		if got := event.JoinText(obs.Content); got != fmt.Sprint(i) {
			t.Errorf("agent %q: %s", agent, got)
		}
	}
}

func BenchmarkCell(b *testing.B) {
	n := open(b, kerneltest.Environment(b))
	n.run("x = 1")
	for b.Loop() {
		if text, failed := n.run("x"); text != "1" || failed {
			b.Fatal(text)
		}
	}
}
