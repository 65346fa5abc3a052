package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/optional"
)

// state says whether a command runs, and whether one has ended and was not
// reported yet.
func (s *session) state() (running, unreported bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.await != "", s.ended != nil
}

// alive reports whether there is a shell.
func (s *session) alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shell != nil
}

// stands reports whether the shell is in the directory that the configuration names.
func (s *session) stands() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shell == nil {
		return true
	}
	is, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", s.shell.process.PID()))
	if err != nil {
		return true // not to be known
	}
	want, err := os.Stat(s.cfg.WorkingDir)
	return err != nil || os.SameFile(is, want)
}

func (s *session) takeEnding() *ending {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.ended
	s.ended = nil
	return e
}

// hasText reports whether there is output for an observation.
func (s *session) hasText() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.any || len(s.text.main.lines) > 1 || !s.text.main.atLineStart()
}

// snapshot has the parts of an observation.
type snapshot struct {
	clipped
	screen  string
	full    bool // a full-screen program draws
	ending  *ending
	prompt  prompt
	command string
}

// snapshot takes all that is new.
func (s *session) snapshot() snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n snapshot
	n.screen, n.full = s.text.screen()
	s.text.flush()
	n.clipped = s.out.finish()
	if rest, ok := strings.CutPrefix(n.text, "\n"); ok && s.late {
		n.text, n.styles = rest, "" // their places would be wrong by one
	}
	s.newCapture()
	n.prompt, n.command = s.last, s.command
	if s.await == "" {
		n.ending, s.ended = s.ended, nil
		return n
	}
	n.prompt.status = -1
	if s.shell != nil {
		link := fmt.Sprintf("/proc/%d/cwd", s.shell.process.PID())
		if dir, err := os.Readlink(link); err == nil {
			n.prompt.cwd = dir
		}
	}
	return n
}

// note says, in front of a new command's output, how the previous one ended.
func (e *ending) note() string {
	switch {
	case e.died != "" && e.idle:
		return fmt.Sprintf("[The shell had ended in the meantime (%s); this is a fresh one%s]\n", e.died, e.keeps())
	case e.died != "":
		return fmt.Sprintf("[The previous command ended the shell (%s); this is a fresh one%s]\n", e.died, e.keeps())
	}
	return fmt.Sprintf("[The previous command has completed with exit code %d in the meantime; the rest of its output comes first.]\n", e.status)
}

func (e *ending) keeps() string {
	if e.kept {
		return ", in the same directory and with the exported variables; other variables, functions and aliases are lost."
	}
	return ", in the last known directory; variables, functions and aliases are lost."
}

// observe makes the observation of an action.
func (e *executor) observe(a *event.TerminalAction, why reason, note string) *event.TerminalObservation {
	n := e.session.snapshot()
	o := e.blank(a, n.prompt)
	if n.file != "" {
		o.FullOutputSaveDir = optional.Of(filepath.Dir(n.file))
	}
	body := strings.TrimRight(n.text, "\n")
	if n.ending != nil && n.ending.died != "" {
		// Bash prints that itself when it runs exit.
		body = strings.TrimSuffix(strings.TrimSuffix("\n"+body, "\nexit"), "\n")
		body = strings.TrimPrefix(body, "\n")
	}
	if n.full {
		body = joinLines(body, "[A full-screen program is running. Its screen:]\n"+n.screen)
	}
	o.Content, o.Metadata.Styles = event.Texts(body), n.styles
	status := n.prompt.status
	if n.ending != nil {
		status = n.ending.status
	}
	o.ExitCode, o.Metadata.ExitCode = &status, status
	o.Metadata.Prefix = note
	o.Timeout = why == silent || why == timedOut
	o.Metadata.Suffix = e.suffix(why, n, status, a)
	if n.ending != nil && e.cfg.Explain != nil {
		if reason := e.cfg.Explain(a.Command, body, status, n.prompt.cwd); reason != "" {
			o.Metadata.Suffix += "\n[" + reason + "]"
		}
	}
	return o
}

func joinLines(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

const howToGoOn = "Send an empty command to wait for more output, set is_input to true to type text or press a key, or send C-c to stop it.]"

func (e *executor) suffix(why reason, n snapshot, status int, a *event.TerminalAction) string {
	var how string
	if why == interrupted {
		how = "\n[The user has interrupted the command.]"
	}
	switch {
	case n.ending != nil && n.ending.died != "":
		return how + fmt.Sprintf("\n[The shell ended (%s). The next command runs in a fresh one%s]", n.ending.died, n.ending.keeps())
	case n.ending != nil:
		return how + fmt.Sprintf("\n[The command completed with exit code %d.]", status)
	case why == ended:
		return "\n[Nothing is running.]"
	case why == silent:
		return fmt.Sprintf("\n[The command has printed nothing for %s and is still running. %s", seconds(e.cfg.SoftTimeout), howToGoOn)
	case why == timedOut && a.Timeout != nil:
		return fmt.Sprintf("\n[The command is still running after %s, the time limit of this call. %s", seconds(e.limits(a).hard), howToGoOn)
	case why == timedOut:
		return fmt.Sprintf("\n[The command is still running after %s, the longest that one call may take. %s", seconds(e.cfg.ForegroundCap), howToGoOn)
	case why == prompting:
		return "\n[The program is running and seems to wait for input. " + howToGoOn
	}
	return how + "\n[The command could not be stopped and is still running.]"
}

// seconds formats a duration in the unit that models use.
func seconds(d time.Duration) string { return fmt.Sprintf("%g seconds", d.Seconds()) }

// busy returns the observation for a command that is sent while another runs.
func (e *executor) busy() string {
	s := e.session
	s.mu.Lock()
	defer s.mu.Unlock()
	name := s.command
	if cut := runeOffset([]byte(name), 200); cut < len(name) {
		name = name[:cut] + "…"
	}
	return fmt.Sprintf("The command was not run, because another one is still running: %q. %s", name,
		strings.TrimSuffix(howToGoOn, "]")+" If it does not react, call with reset true.")
}

// refuse makes the observation of an action that was not carried out.
func (e *executor) refuse(a *event.TerminalAction, msg string) *event.TerminalObservation {
	last := prompt{status: -1, pid: -1}
	if s := e.session; s != nil {
		s.mu.Lock()
		last = s.last
		s.mu.Unlock()
	}
	last.status = -1
	o := e.blank(a, last)
	o.IsError = true
	o.Content = event.Texts(msg)
	return o
}

// blank is an observation with the current data about the shell.
func (e *executor) blank(a *event.TerminalAction, p prompt) *event.TerminalObservation {
	command := a.Command
	o := &event.TerminalObservation{Command: &command}
	o.Metadata = event.TerminalMetadata{ExitCode: p.status, PID: p.pid}
	o.Metadata.Username, o.Metadata.Hostname = optional.Of(e.username), optional.Of(e.hostname)
	o.Metadata.WorkingDir = optional.Of(p.cwd)
	o.Metadata.PyInterpreterPath = optional.Of(e.python.find(p.path, p.cwd))
	return o
}
