package runcommand

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/state"
)

// listProcesses prints the port of the sandbox's proxy, the sockets that listen, and of each
// process the line of /proc/PID/stat, a tab and its command line.
const listProcesses = `echo "proxy ${HTTP_PROXY##*:}"
cat /proc/net/tcp /proc/net/tcp6 2>/dev/null
for p in /proc/[0-9]*; do
	[ -r "$p/stat" ] || continue
	read -r stat <"$p/stat" || continue
	printf 'process %s\t' "$stat"
	tr '\000\n' '  ' <"$p/cmdline"
	echo
done 2>/dev/null
echo "self $$"`

// left has the programs that still run in a sandbox at the end of a run, without Deft's own.
type left struct {
	programs []string // command lines, each once
	ports    []int    // on which something listens
}

// maxPrograms bounds the programs that are named.
const maxPrograms = 3

// String names the programs.
func (l left) String() string {
	names := make([]string, 0, maxPrograms)
	for i, p := range l.programs {
		if i == maxPrograms {
			names = append(names, fmt.Sprintf("%d others", len(l.programs)-i))
			break
		}
		if r := []rune(p); len(r) > 80 {
			p = string(r[:79]) + "…"
		}
		names = append(names, console.Line(p))
	}
	text := strings.Join(names, ", ")
	if len(l.ports) > 0 {
		numbers := make([]string, len(l.ports))
		for i, p := range l.ports {
			numbers[i] = strconv.Itoa(p)
		}
		text += ", listening on port " + strings.Join(numbers, ", ")
	}
	return text
}

// leftRunning returns the programs that still run in the sandbox of the conversation; none where
// commands do not have processes of their own, or where it cannot be known.
func (r *runner) leftRunning(ctx context.Context, s *state.State) left {
	commands := slices.ContainsFunc(s.View, func(ev event.Event) bool {
		a, ok := ev.(*event.ActionEvent)
		if !ok {
			return false
		}
		_, ok = a.Action.(*event.TerminalAction)
		return ok
	})
	if level := r.c.Environment().Isolation(); !commands || level == "none" || level == "landlock" { // all of this machine's are there
		return left{}
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	res, err := r.c.Environment().RunProgram(ctx, session.Program{Argv: []string{"sh", "-c", listProcesses}, Dir: r.c.Workspace()})
	if err != nil || res.ExitCode != 0 {
		return left{}
	}
	return parseLeft(res.Stdout)
}

// process is a line of the list.
type process struct {
	pid, parent, session, tty int
	name, command             string
}

// parseLeft reads the output of listProcesses. What the sandbox's server has started itself is in
// its session, as the list is: the programs of MCP servers, whatever they have become. Commands
// of the agent begin sessions.
func parseLeft(text string) (l left) {
	var all []process
	self, proxy := 0, 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if pid, ok := strings.CutPrefix(line, "self "); ok {
			self, _ = strconv.Atoi(pid)
		} else if port, ok := strings.CutPrefix(line, "proxy "); ok {
			proxy, _ = strconv.Atoi(port)
		} else if rest, ok := strings.CutPrefix(line, "process "); ok {
			if p, ok := parseProcess(rest); ok {
				all = append(all, p)
			}
		} else if port := listening(line); port > 0 && port != proxy && !slices.Contains(l.ports, port) {
			l.ports = append(l.ports, port)
		}
	}
	slices.Sort(l.ports)
	session := 0
	if i := slices.IndexFunc(all, func(p process) bool { return p.pid == self }); i >= 0 {
		session = all[i].session
	}
	for _, p := range all {
		shell := p.parent == 1 && p.pid == p.session && p.tty != 0 // the agent's own
		if p.pid == 1 || p.command == "" || shell || p.session == session || ofSession(all, p, session) {
			continue
		}
		if !slices.Contains(l.programs, p.command) {
			l.programs = append(l.programs, p.command)
		}
	}
	if len(l.programs) == 0 {
		l.ports = nil // they are the sandbox's own
	}
	return l
}

// ofSession reports whether a process descends from one of a session other than the first process.
func ofSession(all []process, p process, session int) bool {
	for range all {
		i := slices.IndexFunc(all, func(one process) bool { return one.pid == p.parent })
		if i < 0 || all[i].pid == 1 {
			return false
		}
		if p = all[i]; p.session == session {
			return true
		}
	}
	return false
}

// parseProcess reads a line of /proc/PID/stat with a tab and the command line.
func parseProcess(line string) (p process, ok bool) {
	stat, command, found := strings.Cut(line, "\t")
	begin, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if !found || begin < 0 || end < begin {
		return p, false
	}
	p.name, p.command = stat[begin+1:end], strings.TrimSpace(command)
	fields := strings.Fields(stat[end+1:]) // state, parent, group, session, terminal
	if len(fields) < 5 || fields[0] == "Z" {
		return p, false
	}
	var errs [4]error
	p.pid, errs[0] = strconv.Atoi(strings.TrimSpace(stat[:begin]))
	p.parent, errs[1] = strconv.Atoi(fields[1])
	p.session, errs[2] = strconv.Atoi(fields[3])
	p.tty, errs[3] = strconv.Atoi(fields[4])
	for _, err := range errs {
		if err != nil {
			return p, false
		}
	}
	return p, true
}

// listening returns the port of a line of /proc/net/tcp whose socket listens, else 0.
func listening(line string) int {
	fields := strings.Fields(line)
	if len(fields) < 4 || fields[3] != "0A" {
		return 0
	}
	_, port, _ := strings.Cut(fields[1], ":")
	n, err := strconv.ParseInt(port, 16, 32)
	if err != nil {
		return 0
	}
	return int(n)
}

// keepLeft makes programs run on for the time of KeepPrograms, and returns it; 0 if they end.
func (r *runner) keepLeft(ctx context.Context, l left) time.Duration {
	if len(l.programs) == 0 || r.KeepPrograms <= 0 {
		return 0
	}
	if err := r.c.Environment().Linger(ctx, r.KeepPrograms); err != nil {
		r.view.Warn("what runs cannot be kept: " + safeText(err.Error()))
		return 0
	}
	return r.KeepPrograms
}

// tellLeft names the programs that end with the run, or says how long they stay.
func (r *runner) tellLeft(l left, stays time.Duration) {
	switch {
	case len(l.programs) == 0:
	case stays > 0:
		r.view.note(fmt.Sprintf("still running for %s: %s", stays, l))
		if len(l.ports) > 0 {
			r.view.note(fmt.Sprintf("  to reach it: %s forward %s %d", r.view.command, r.ID, l.ports[0]))
		}
	default:
		r.view.note(fmt.Sprintf("ended with the run: %s (--keep 1h lets it run on)", l))
	}
}
