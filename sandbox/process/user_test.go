package process_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// nobody is an account without any right.
const nobody = 65534

// userVariable says that TestAsOrdinaryUser has started this process: in a test's
// user namespace the user's id is root's.
const userVariable = "DEFT_TEST_USER"

// TestAsOrdinaryUser runs the other tests again as one, if this is root: success
// for root proves little for users, and the other way round.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("runs as an ordinary user already")
	}
	t.Parallel()
	base, err := os.MkdirTemp("", "deft-") // t.TempDir is closed to others
	must.Succeed(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	exe := filepath.Join(base, "process.test")
	copyFile(t, executable(t), exe)
	for _, dir := range []string{base, filepath.Join(base, "tmp"), filepath.Join(base, "home")} {
		must.Succeed(t, os.MkdirAll(dir, 0o755))
		must.Succeed(t, os.Chown(dir, nobody, nobody))
	}
	must.Succeed(t, os.Chmod(base, 0o755))
	args := []string{"-test.count=1"}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Dir = base
	cmd.Env = []string{
		"HOME=" + filepath.Join(base, "home"), "TMPDIR=" + filepath.Join(base, "tmp"),
		"PATH=" + os.Getenv("PATH"), "CI=" + os.Getenv("CI"), "DEFT_PROOF=" + os.Getenv("DEFT_PROOF"), "GORACE=" + os.Getenv("GORACE"), userVariable + "=1",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as user %d: %v\n%s", nobody, err, out)
	}
	t.Logf("%s", out)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	must.Succeed(t, err)
	defer in.Close()
	// A child that another test starts meanwhile would have the file open for
	// writing until its exec, and the file could not be run ("text file busy").
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	must.Succeed(t, err)
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, out.Close())
}
