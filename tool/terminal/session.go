package terminal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/internal/tty"
	"github.com/deft-dev/deft/tool/terminal/ahead"
)

// session is a terminal with a shell on it. One goroutine reads the terminal;
// one per shell waits for its process. The methods that drive it are called
// by one goroutine at a time.
type session struct {
	cfg        Config
	pty        *ptyPair
	readerDone chan struct{}
	wake       chan struct{} // something changed; capacity 1
	shells     []int         // process ids, which are session ids too
	started    bool          // there was a shell

	mu         sync.Mutex
	mask       func() tool.Masker // nil for none
	shell      *shell             // nil if none runs
	out        *capture
	text       *filter
	live       progress
	held       []byte // output that may be the beginning of a marker
	late       bool   // a SIGINT may be answered by an empty line; see setLate
	await      string // nonce of the marker that ends the running command; empty: idle
	command    string // the command that runs, or ran last
	ended      *ending
	last       prompt // of the last report
	exports    string // to be restored in the next shell
	lastOutput time.Time
}

// ending says how a command ended, if that was not reported yet.
type ending struct {
	status int
	died   string // how the shell ended, if it did; empty otherwise
	idle   bool   // nothing ran when the shell ended
	kept   bool   // directory and variables go over to the next shell
}

func openSession(ctx context.Context, cfg Config) (*session, error) {
	ready := ahead.Take(cfg.spec(cfg.WorkingDir))
	pty, err := openPTY(cfg.Rows, cfg.Cols, ready)
	if err != nil {
		if ready != nil {
			ready.Discard()
		}
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	s := &session{
		cfg: cfg, pty: pty,
		readerDone: make(chan struct{}),
		wake:       make(chan struct{}, 1),
		last:       prompt{pid: -1, cwd: cfg.WorkingDir},
	}
	s.newCapture()
	s.text = newFilter(int(cfg.Rows), int(cfg.Cols),
		func(p []byte, style string) { s.out.addStyled(p, style) }, s.live.add)
	go s.read()
	if err := s.startShell(ctx, ready); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// maskWith sets the masker of secrets in the output from now on.
func (s *session) maskWith(mask func() tool.Masker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mask == nil && mask != nil {
		s.mask = mask
		s.out.mask = mask()
	}
}

func (s *session) newCapture() {
	s.out = newCapture(s.cfg.MaxOutput, s.cfg.OutputDir, s.cfg.MaxSaved)
	if s.mask != nil {
		s.out.mask = s.mask()
	}
}

// startShell starts a shell where the last one ended, unless there is one that was started
// ahead, and waits until it is ready.
func (s *session) startShell(ctx context.Context, ready *ahead.Shell) error {
	s.mu.Lock()
	dir, exports, first := s.last.cwd, s.exports, !s.started
	s.mu.Unlock()
	if !first {
		dir = existing(dir)
		if err := s.forgetEmpty(); err != nil {
			return err
		}
	}
	leave, err := s.cfg.Starter.inner().Turn(ctx)
	if err != nil {
		if ready != nil {
			ready.Discard()
		}
		return fmt.Errorf("start shell: %w", err)
	}
	defer leave()
	sh, err := startShell(s.cfg, s.pty.slave, dir, ready, s.shellExited)
	if err != nil {
		return err
	}
	s.started = true
	s.shells = append(s.shells, sh.process.PID())
	s.mu.Lock()
	s.shell, s.exports = sh, ""
	s.mu.Unlock()
	setUp := ":"
	if exports != "" {
		setUp = "{\n" + exports + "\n:; } 2>/dev/null"
	}
	if err := s.run("", s.cfg.syntax.begin()+s.cfg.syntax.script(setUp, s.expect(), 0)); err != nil {
		return err
	}
	return s.ready(ctx)
}

// forgetEmpty drops the sessions of former shells that have no process left,
// because the kernel may reuse their ids.
func (s *session) forgetEmpty() error {
	var left []int
	for _, id := range s.shells {
		members, err := tty.SessionMembers([]int{id})
		if err != nil {
			return err
		}
		if len(members) > 0 {
			left = append(left, id)
		}
	}
	s.shells = left
	return nil
}

// ready waits for the first prompt of a shell.
func (s *session) ready(ctx context.Context) error {
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	for {
		s.mu.Lock()
		ended := s.ended
		if ended != nil {
			s.ended = nil
		}
		s.mu.Unlock()
		switch {
		case ended != nil && ended.died != "":
			return fmt.Errorf("the shell ended at once (%s)", ended.died)
		case ended != nil:
			return nil
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return fmt.Errorf("start shell: %w", ctx.Err())
		case <-timeout.C:
			return errors.New("the shell did not become ready")
		}
	}
}

// expect makes the session busy until the marker with the returned nonce.
func (s *session) expect() string {
	nonce := newNonce()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.await = nonce
	return nonce
}

// run sends a text made by script to the shell.
func (s *session) run(command, text string) error {
	s.mu.Lock()
	s.command = command
	s.lastOutput = time.Now()
	sh := s.shell
	s.mu.Unlock()
	if sh == nil {
		return nil // it has ended already; s.ended says how
	}
	return sh.send(text)
}

// start runs a command in the shell. exports is the script that the shell runs
// before it, see exporting.
func (s *session) start(command, exports string) error {
	s.mu.Lock()
	status := s.last.status
	s.mu.Unlock()
	return s.run(command, exports+s.cfg.syntax.script(command, s.expect(), max(status, 0)))
}

// input sends bytes to the program that runs.
func (s *session) input(b string) error {
	s.mu.Lock()
	s.lastOutput = time.Now()
	s.mu.Unlock()
	if err := s.pty.master.SetWriteDeadline(time.Now().Add(inputTimeout)); err != nil {
		return fmt.Errorf("set deadline of terminal: %w", err)
	}
	if _, err := s.pty.master.WriteString(b); err != nil {
		return fmt.Errorf("write to terminal: %w", err)
	}
	return nil
}

// readSize is the most that the kernel returns at a time (n_tty's buffer).
const readSize = 4 << 10

// read takes all output until the terminal is closed.
func (s *session) read() {
	defer close(s.readerDone)
	buf := make([]byte, readSize)
	for {
		n, err := s.pty.master.Read(buf)
		s.take(buf[:n])
		if err != nil {
			return // closed: the slave is open here, so there is no other end
		}
	}
}

func (s *session) take(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) > 0 {
		p = append(s.held, p...)
		s.held = nil
	}
	for {
		text, nonce, rest := splitMarker(p)
		if len(text) > 0 {
			s.text.write(text)
			s.lastOutput = time.Now()
		}
		if nonce == "" {
			s.held = append([]byte(nil), rest...)
			break
		}
		s.marker(nonce)
		p = rest
	}
	s.notify()
}

func (s *session) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// marker handles a marker. One that is not expected is dropped, like any unknown
// sequence.
func (s *session) marker(nonce string) {
	switch {
	case s.shell == nil:
	case nonce == s.await:
		s.commandEnded(nonce)
	case nonce == s.shell.exitNonce:
		s.shellEnded()
	}
}

func (s *session) commandEnded(nonce string) {
	p, err := s.shell.readReport(nonce)
	if err != nil {
		// The marker is genuine, so the command has ended; only how is unknown.
		p = prompt{status: -1, pid: -1, cwd: s.last.cwd, path: s.last.path}
	}
	s.await, s.last = "", p
	s.ended = &ending{status: p.status}
	s.settle()
}

// settle takes the terminal back from the command that ran on it.
func (s *session) settle() {
	s.text.reset()
	// Both fail only when the terminal is being closed.
	_ = s.pty.discardInput()
	_ = s.pty.restore()
}

// shellExited is called when the shell's process has ended. Output of the shell
// and its programs is still on its way through the terminal; a marker behind it
// shows the reader that all output has arrived.
func (s *session) shellExited(sh *shell) {
	// An error means that the terminal is being closed.
	_, _ = s.pty.slave.WriteString(markerFor(sh.exitNonce))
}

func (s *session) shellEnded() {
	sh := s.shell
	status, how := describeExit(sh)
	e := &ending{status: status, died: how, idle: s.await == "" && s.ended == nil}
	if dir, exports := sh.exitState(); dir != "" {
		s.last.cwd, s.exports, e.kept = dir, exports, true
	}
	s.last.pid, s.last.status = -1, 0
	sh.release()
	s.shell, s.await, s.ended = nil, "", e
	s.settle()
}

func describeExit(sh *shell) (status int, how string) {
	switch sig := sh.status.Signal(); {
	case sh.lost != nil:
		return -1, "status unknown"
	case sh.status.Signaled():
		return 128 + int(sig), fmt.Sprintf("killed by signal %d, %s", int(sig), sig)
	}
	return sh.status.ExitStatus(), fmt.Sprintf("status %d", sh.status.ExitStatus())
}

// close ends everything on the terminal and waits for it.
func (s *session) close() error {
	err := tty.KillSessions(s.shells)
	s.mu.Lock()
	sh := s.shell
	s.mu.Unlock()
	// Closing the terminal ends pending writes to it.
	s.pty.close()
	<-s.readerDone
	if sh != nil {
		<-sh.waited
	}
	if s.shell != nil {
		s.shell.release()
	}
	s.out.drop()
	return err
}
