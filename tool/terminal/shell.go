package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/spawn"
	"github.com/deft-dev/deft/tool/terminal/ahead"
)

// shell is one process of bash, or of the image's own sh, on the terminal.
//
// It is interactive, so that it has job control and goes on after C-c, but
// its commands do not come from the terminal: they come from a pipe on its
// fd 0, which programs never see. Only programs use the terminal.
// At the end of each command the shell writes its status to the report pipe
// and then the command's marker to the terminal.
type shell struct {
	process   *spawn.Process
	pipes     ahead.Pipes        // its EXIT trap leaves directory and variables in the file Exit
	buf       []byte             // read from the report and not used yet
	exitNonce string             // of the marker written after the shell's end
	status    syscall.WaitStatus // how it ended, once waited is closed …
	lost      error              // … unless that is unknown
	waited    chan struct{}
}

// prompt is the shell's report at the end of a command.
type prompt struct {
	status int
	pid    int // of the last background job, -1 for none
	cwd    string
	path   string
}

// startShell starts the shell on the terminal, in dir, unless ready is one that runs there.
// onExit is called once, when the process has ended.
func startShell(cfg Config, tty *os.File, dir string, ready *ahead.Shell, onExit func(*shell)) (*shell, error) {
	sh := &shell{exitNonce: newNonce(), waited: make(chan struct{})}
	if ready != nil {
		sh.process, sh.pipes = spawn.Adopt(ready.PID), ready.Pipes
	} else if err := sh.start(cfg, tty, dir); err != nil {
		return nil, fmt.Errorf("start %s in %s: %w", cfg.Shell, dir, err)
	}
	go func() {
		defer close(sh.waited)
		sh.status, sh.lost = sh.process.Wait()
		onExit(sh)
	}()
	return sh, nil
}

func (sh *shell) start(cfg Config, tty *os.File, dir string) error {
	spec := cfg.spec(dir)
	pipes, files, done, err := ahead.Connect(spec, tty)
	if err != nil {
		return err
	}
	defer done()
	sh.pipes = pipes
	sh.process, err = cfg.Starter.inner().Start(spawn.Command{
		Path: spec.Path, Args: spec.Args, Env: spec.Env, Dir: dir, Files: files, Sys: ahead.Attributes(),
	})
	if err != nil {
		sh.release()
	}
	return err
}

// spec has the start parameters of a shell in dir.
func (c Config) spec(dir string) ahead.Spec {
	return ahead.NewSpec(c.Shell, c.Env, dir, c.Rows, c.Cols, c.Command)
}

// release closes the files of a shell that has ended.
func (sh *shell) release() { sh.pipes.Close() }

// maxExports bounds the variables that are taken over from a shell: somewhat more
// than the kernel would let it pass to a program.
const maxExports = 8 << 20

// exitState returns the directory and the exported variables, as a script, that
// the shell's EXIT trap has saved; empty if it could not.
func (sh *shell) exitState() (dir, exports string) {
	b, err := io.ReadAll(io.NewSectionReader(sh.pipes.Exit, 0, maxExports))
	if err != nil {
		return "", ""
	}
	d, e, ok := bytes.Cut(b, []byte{0})
	if !ok {
		return "", ""
	}
	return string(d), string(e)
}

// quote makes one shell word of any text without NUL.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// send writes text for the shell to read. A shell that has ended is no error: the
// marker reports its end.
func (sh *shell) send(text string) error {
	if err := sh.pipes.Control.SetWriteDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return fmt.Errorf("set deadline of shell: %w", err)
	}
	_, err := sh.pipes.Control.WriteString(text)
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) {
		return fault.Wrap(err, fault.Internal, "the shell does not take commands")
	}
	return nil
}

// readReport returns the shell's report before the marker with this nonce; it is
// in the pipe already.
func (sh *shell) readReport(nonce string) (prompt, error) {
	const fields = 4
	if err := sh.pipes.Report.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		return prompt{}, fmt.Errorf("set deadline of report: %w", err)
	}
	chunk := make([]byte, 2<<10) // most reports fit
	for {
		if i := bytes.Index(sh.buf, []byte(nonce+"\x00")); i >= 0 {
			parts := bytes.SplitN(sh.buf[i+len(nonce)+1:], []byte{0}, fields+1)
			if len(parts) == fields+1 {
				sh.buf = append([]byte(nil), parts[fields]...)
				return parsePrompt(parts), nil
			}
		}
		n, err := sh.pipes.Report.Read(chunk)
		if err != nil {
			return prompt{}, fmt.Errorf("read report of shell: %w", err)
		}
		sh.buf = append(sh.buf, chunk[:n]...)
	}
}

func parsePrompt(parts [][]byte) prompt {
	p := prompt{status: -1, pid: -1, cwd: string(parts[2]), path: string(parts[3])}
	if n, err := strconv.Atoi(string(parts[0])); err == nil {
		p.status = n
	}
	if n, err := strconv.Atoi(string(parts[1])); err == nil {
		p.pid = n
	}
	return p
}

// existing returns dir, or the nearest directory above it that exists.
func existing(dir string) string {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
	}
}
