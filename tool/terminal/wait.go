package terminal

import (
	"context"
	"syscall"
	"time"

	"github.com/deft-dev/deft/tool"
)

// reason says why a call returns.
type reason int

const (
	ended       reason = iota // the command has ended
	silent                    // no new output for the soft timeout
	timedOut                  // the hard timeout is over
	prompting                 // the program seems to wait for input
	interrupted               // the user has stopped it
)

// limits is how long a call waits.
type limits struct {
	soft   time.Duration // without output; 0 for ever
	hard   time.Duration // in all; 0 for ever
	prompt time.Duration // without output behind an unfinished line; 0 for ever
}

// wait returns when the command has ended or a limit is reached. Meanwhile
// it passes output on to progress.
func (s *session) wait(ctx context.Context, l limits, send func(tool.Chunk)) reason {
	begin := time.Now()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var shown time.Time
	defer func() { s.show(send) }()
	for {
		if s.idle() {
			return ended
		}
		now := time.Now()
		next, why, due := s.due(l, begin, now)
		if due {
			return why
		}
		if now.Sub(shown) >= progressEvery {
			s.show(send)
			shown = now
		} else if s.hasLive() {
			next = min(next, progressEvery-now.Sub(shown))
		}
		timer.Reset(next)
		select {
		case <-s.wake:
		case <-timer.C:
		case <-ctx.Done():
			return interrupted
		}
	}
}

func (s *session) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.await == ""
}

func (s *session) hasLive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live.buf) > 0
}

// show passes new output on for a live view.
func (s *session) show(send func(tool.Chunk)) {
	s.mu.Lock()
	text := s.live.take()
	s.mu.Unlock()
	if text != "" && send != nil {
		send(tool.Chunk{Text: text})
	}
}

// due returns the limit that is reached, or else the time until the next one.
func (s *session) due(l limits, begin, now time.Time) (next time.Duration, why reason, due bool) {
	s.mu.Lock()
	quiet := now.Sub(s.lastOutput)
	unfinished := s.text.alt != nil || !s.text.main.atLineStart()
	s.mu.Unlock()
	next = time.Hour
	check := func(limit, elapsed time.Duration, r reason) {
		switch {
		case limit <= 0 || due:
		case elapsed >= limit:
			why, due = r, true
		default:
			next = min(next, limit-elapsed)
		}
	}
	check(l.hard, now.Sub(begin), timedOut)
	check(l.soft, min(quiet, now.Sub(begin)), silent)
	if unfinished {
		check(l.prompt, min(quiet, now.Sub(begin)), prompting)
	}
	return next, why, due
}

// killTime bounds the wait for the end of a shell that was killed. It comes for certain, unless the
// kernel holds the shell in a system call; a busy machine takes its time.
const killTime = 30 * time.Second

// interrupt stops the running command: C-c first, then harder, at last with the
// shell itself. It returns when the command has ended.
func (s *session) interrupt() {
	step := s.cfg.InterruptGrace / 16
	for _, t := range []struct {
		sig  syscall.Signal
		wait time.Duration
	}{
		// More than one SIGINT, because one that comes while bash starts a
		// program is lost; and one behind each other signal, so that bash
		// does not go on with the next command of the script.
		{syscall.SIGINT, step}, {syscall.SIGINT, 2 * step}, {syscall.SIGINT, 2 * step},
		{syscall.SIGTERM, step}, {syscall.SIGINT, 3 * step},
		{syscall.SIGKILL, step}, {syscall.SIGINT, 2 * step}, {syscall.SIGINT, 2 * step},
	} {
		s.signalForeground(t.sig)
		if s.waitIdle(t.wait) {
			return
		}
		s.askAgain()
	}
	s.mu.Lock()
	sh := s.shell
	s.mu.Unlock()
	if sh != nil {
		// Its group may have ended by itself meanwhile; so may the shell.
		s.signalForeground(syscall.SIGKILL)
		_ = sh.process.Kill()
		s.waitIdle(killTime)
	}
}

// setLate records that a SIGINT may have come too late: the shell then prints an
// empty line in front of the next command's output.
func (s *session) setLate(late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = late
}

// askAgain has the shell report the command's end once more. A SIGINT at the
// wrong moment discards the reporting lines together with the command, and the
// shell waits for the next one. A shell that is still busy reads the lines
// later; a second marker is ignored.
func (s *session) askAgain() {
	s.mu.Lock()
	sh, nonce := s.shell, s.await
	s.mu.Unlock()
	if sh == nil || nonce == "" || s.pty.foreground() != sh.process.PID() {
		return
	}
	// A shell that accepts nothing any more is killed in the end.
	_ = sh.send(s.cfg.syntax.report(nonce))
}

// askUntilIdle asks again for a while after a C-c that was typed, for shells that
// then discard their input.
func (s *session) askUntilIdle() {
	for wait := 20 * time.Millisecond; wait <= 320*time.Millisecond; wait *= 2 {
		if s.waitIdle(wait) {
			return
		}
		s.askAgain()
	}
}

// signalForeground signals the process group that owns the terminal. When that is
// the shell's own, only SIGINT is of use: it ends the shell's work and not the
// shell.
func (s *session) signalForeground(sig syscall.Signal) {
	pgrp := s.pty.foreground()
	s.mu.Lock()
	sh := s.shell
	s.mu.Unlock()
	if pgrp <= 1 || sh == nil {
		return
	}
	if pgrp == sh.process.PID() {
		sig = syscall.SIGINT
	}
	// The group may have ended; then there is nothing to signal.
	_ = syscall.Kill(-pgrp, sig)
	_ = syscall.Kill(-pgrp, syscall.SIGCONT)
}

// waitIdle waits at most d for the end of the command.
func (s *session) waitIdle(d time.Duration) bool {
	timeout := time.NewTimer(d)
	defer timeout.Stop()
	for !s.idle() {
		select {
		case <-s.wake:
		case <-timeout.C:
			return s.idle()
		}
	}
	return true
}
