package terminal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/terminal"
)

// with runs a command with secrets and returns its output and its progress.
func (b *bench) with(secrets tool.Secrets, command string) (output, shown string) {
	b.t.Helper()
	var live strings.Builder
	o, err := b.x.Execute(b.t.Context(), tool.Call{
		Action: &event.TerminalAction{Command: command}, Secrets: secrets,
		Progress: func(c tool.Chunk) { live.WriteString(c.Text) },
	})
	if err != nil {
		b.t.Fatalf("execute %.100q: %v", command, err)
	}
	obs := o.(*event.TerminalObservation)
	output = strings.TrimRight(event.JoinText(obs.Content), "\n")
	return output, output + live.String()
}

// TestSecrets gives a command variables with every kind of value.
func TestSecrets(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	for name, value := range map[string]string{
		"plain": "abc", "quotes": `a'b"c\d$e` + "`f`!g#h*i~j", "lines": "a\nb\r\nc\n", "spaces": "  a \t b  ",
		"unicode": "schlüssel 🔑", "bytes": "\xff\xfe\x01\x7f\x1b[31m", "option": "-n", "long": strings.Repeat("0123456789abcde\n", 7<<10),
	} {
		got, _ := b.with(tool.Secrets{"DEFT_S": value}, `printf %s "$DEFT_S" >out; env -0 | grep -zc '^DEFT_S='`)
		file, err := os.ReadFile(filepath.Join(b.dir, "out"))
		if err != nil || string(file) != value || !strings.Contains(got, "1") {
			t.Errorf("%s: the command got %.50q, %v; %s", name, file, err, got)
		}
	}
	odd := tool.Secrets{"not a name": "x", "1A": "x", "A=B": "x", "": "x", "PS1": "x", "PROMPT_COMMAND": "echo x", "NUL": "a\x00b", "$(echo x)": "x", "EMPTY": ""}
	if got, shown := b.with(odd, "echo $NUL$EMPTY fine"); !strings.HasPrefix(got, "fine") || strings.Contains(shown, "x\n") {
		t.Errorf("odd names: %q", shown)
	}
	if got, _ := b.with(nil, `false; x=$?; echo $x`); !strings.HasPrefix(got, "1") {
		t.Errorf("got %q", got)
	}
	if got, _ := b.with(tool.Secrets{"A": "x"}, `echo $? "$_"`); !strings.HasPrefix(got, "0 0") {
		t.Errorf("$? and $_ are %q", got)
	}
}

// TestSecretsLeave: they are for one command. Later ones have them only if they name them
// again, also in the shell that follows one that has exited; what a command has set itself
// stays.
func TestSecretsLeave(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "dash"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		b := open(t, func(c *terminal.Config) { c.Shell = path })
		hush := tool.Secrets{"DEFT_S": "hush it's", "DEFT_T": "*"}
		for _, command := range []string{
			"true", "set -u", "exit 3", "set -e; false", "kill -INT $$", "echo \"if", "sh -c true & wait", "(sleep 0)", "DEFT_T=[abc]; unset DEFT_S", "readonly DEFT_X=1; unset DEFT_T",
		} {
			if shell == "dash" && strings.HasPrefix(command, "kill") {
				continue // it discards its input then, until C-c is asked for
			}
			if got, _ := b.with(hush, "echo ${#DEFT_S}${#DEFT_T}; "+command); command != "echo \"if" && !strings.HasPrefix(got, "91") {
				t.Errorf("%s %s got %q", shell, command, got)
			}
			if got, _ := b.with(nil, `unset DEFT_T_; sh -c 'echo "<$DEFT_S>"'; case $(set) in *hush*) echo "is there";; esac`); !strings.HasPrefix(got, "<>") || strings.Contains(got, "there") {
				t.Errorf("%s after %s: %q", shell, command, got)
			}
		}
		b.with(hush, "export DEFT_S=own")
		if got, _ := b.with(nil, `echo "<$DEFT_S>"`); !strings.HasPrefix(got, "<own>") {
			t.Errorf("%s: its own value: %q", shell, got)
		}
	}
	b := open(t, nil)
	b.with(nil, "kill -9 $$")
	if got, _ := b.with(tool.Secrets{"DEFT_S": "again"}, `echo ${#DEFT_S}`); !strings.Contains(got, "5") {
		t.Errorf("a fresh shell: %q", got)
	}
	o, err := b.x.Execute(t.Context(), tool.Call{
		Action: &event.TerminalAction{Command: "echo ${#DEFT_S}", Reset: true}, Secrets: tool.Secrets{"DEFT_S": "anew!!"}, Progress: func(tool.Chunk) {},
	})
	if err != nil || !strings.Contains(event.JoinText(o.Result().Content), "6") {
		t.Errorf("with a reset: %v, %v", o, err)
	}
}

// TestSecretsAreNotShown turns on all that makes a shell talk about itself.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	const value = "hush-hush-4711"
	b := open(t, nil)
	for _, command := range []string{
		"true", "set -x", "set -v; true", "set -xv", "trap 'set -xv' USR1; kill -USR1 $$", "set -o history", "set -H",
		"trap 'echo $BASH_COMMAND' DEBUG", "PS4='$BASH_COMMAND '; PROMPT_COMMAND='fc -l'; PS0='$BASH_COMMAND'",
		"history", "fc -l 2>&1", "set -o history; HISTFILE=$PWD/hist; history -w", "sh -c 'sleep 0' & wait; jobs",
		"exec 3>&2; BASH_XTRACEFD=3; set -x", "readonly DEFT_R=1", "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'", "ps axww 2>/dev/null || true",
		"echo \"if then", "(exit 3)", "fc -ln -20 2>/dev/null; history; cat hist",
	} {
		got, shown := b.with(tool.Secrets{"DEFT_S": value, "DEFT_R": value}, command)
		if strings.Contains(shown, "hush") {
			t.Errorf("%s shows %.200q", command, got)
		}
	}
	if got, _ := b.with(nil, "echo $DEFT_R ${#DEFT_S}; [[ -o history ]] && echo kept"); !strings.HasPrefix(got, "1 0\nkept") {
		t.Errorf("at the end: %q", got)
	}
	for _, dir := range []string{b.dir, b.outs} {
		_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // b.outs need not exist
			}
			if file, _ := os.ReadFile(path); strings.Contains(string(file), "hush") {
				t.Errorf("%s holds %q", path, file)
			}
			return nil
		})
	}
}

// TestSecretsAreNoInput: a running command is not sent any.
func TestSecretsAreNoInput(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.do(t.Context(), event.TerminalAction{Command: "read -r line; echo \"got $line\"", Timeout: new(0.2)})
	o, err := b.x.Execute(t.Context(), tool.Call{
		Action:  &event.TerminalAction{Command: "DEFT_S", IsInput: true},
		Secrets: tool.Secrets{"DEFT_S": "hush"}, Progress: func(tool.Chunk) {},
	})
	if err != nil || !strings.Contains(event.JoinText(o.Result().Content), "got DEFT_S") {
		t.Fatalf("input: %+v, %v", o, err)
	}
	if got, _ := b.with(nil, "echo \"<$DEFT_S>\""); !strings.HasPrefix(got, "<>") {
		t.Errorf("the shell has it: %q", got)
	}
}
