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

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/spawn"
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
	control   *os.File
	report    *os.File
	buf       []byte             // read from report and not used yet
	exitNonce string             // of the marker written after the shell's end
	exitFile  *os.File           // in memory: its EXIT trap leaves directory and variables
	status    syscall.WaitStatus // how it ended, once waited is closed …
	lost      error              // … unless that is unknown
	waited    chan struct{}
}

// prompt is what the shell reports when a command has ended.
type prompt struct {
	status int
	pid    int // of the last background job, -1 for none
	cwd    string
	path   string
}

// startShell starts the shell on the terminal, in dir. onExit is called once, when
// the process has ended.
func startShell(cfg Config, tty *os.File, dir string, onExit func(*shell)) (*shell, error) {
	control, childIn, err := pipe(true)
	if err != nil {
		return nil, err
	}
	report, childOut, err := pipe(false)
	if err != nil {
		return nil, errors.Join(err, control.Close(), childIn.Close())
	}
	sh := &shell{control: control, report: report, exitNonce: newNonce(), waited: make(chan struct{})}
	err = sh.start(cfg, tty, dir, childIn, childOut)
	_ = childIn.Close()
	_ = childOut.Close()
	if err != nil {
		sh.release()
		return nil, fmt.Errorf("start %s in %s: %w", cfg.Shell, dir, err)
	}
	go func() {
		defer close(sh.waited)
		sh.status, sh.lost = sh.process.Wait()
		onExit(sh)
	}()
	return sh, nil
}

func (sh *shell) start(cfg Config, tty *os.File, dir string, in, out *os.File) error {
	// Not a file on disk: variables may be secret, and this is deleted when this
	// process is.
	fd, err := unix.MemfdCreate("deft-shell", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("make memory file: %w", err)
	}
	sh.exitFile = os.NewFile(uintptr(fd), "deft-shell")
	program, args := cfg.Shell, cfg.syntax.args()
	if cfg.Command != nil {
		program, args = cfg.Command(program, args)
	}
	output := tty
	if cfg.syntax.writesAtStart() {
		if output, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
			return err
		}
		defer output.Close()
	}
	sh.process, err = cfg.Starter.inner().Start(spawn.Command{
		Path: program, Args: args,
		Env: shellEnv(cfg.Env), Dir: dir, Files: []*os.File{in, output, tty, out, sh.exitFile},
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2},
	})
	return err
}

// pipe returns our end, which supports deadlines, and the child's, which blocks.
func pipe(weWrite bool) (ours, theirs *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("make pipe: %w", err)
	}
	our, their := fds[0], fds[1]
	if weWrite {
		our, their = their, our
	}
	theirs = os.NewFile(uintptr(their), "pipe")
	err = unix.SetNonblock(our, true)
	ours = os.NewFile(uintptr(our), "pipe")
	if err != nil {
		return nil, nil, errors.Join(err, ours.Close(), theirs.Close())
	}
	return ours, theirs, nil
}

// release closes the files of a shell that has ended.
func (sh *shell) release() {
	_ = sh.control.Close()
	_ = sh.report.Close()
	if sh.exitFile != nil {
		_ = sh.exitFile.Close()
	}
}

// maxExports bounds the variables that are taken over from a shell: somewhat more
// than the kernel would let it pass to a program.
const maxExports = 8 << 20

// exitState returns the directory and the exported variables, as a script, that
// the shell's EXIT trap has saved; empty if it could not.
func (sh *shell) exitState() (dir, exports string) {
	b, err := io.ReadAll(io.NewSectionReader(sh.exitFile, 0, maxExports))
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
	if err := sh.control.SetWriteDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return fmt.Errorf("set deadline of shell: %w", err)
	}
	_, err := sh.control.WriteString(text)
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) {
		return fault.Wrap(err, fault.Internal, "the shell does not take commands")
	}
	return nil
}

// readReport returns what the shell wrote before the marker with this nonce;
// it is in the pipe already.
func (sh *shell) readReport(nonce string) (prompt, error) {
	const fields = 4
	if err := sh.report.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
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
		n, err := sh.report.Read(chunk)
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
