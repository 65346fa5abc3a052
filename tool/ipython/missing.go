package ipython

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/deft-dev/deft/tool/internal/aptget"
)

// The package of a kernel, and the flag for an image that has it.
const (
	debian = "python3-ipykernel"
	with   = "--with notebook"
)

// missing says why the program has ended at once.
func (k *kernel) missing(ctx context.Context, c Config, python string) error {
	said := k.stderr.String()
	if !strings.Contains(said, "No module named") {
		return noKernel(fmt.Sprintf("The kernel of %s ended at its start (%s): %s", python, k.cause(), said))
	}
	missing := "There is no Jupyter kernel for " + python
	command, ok := pip(ctx, c, python)
	if !ok {
		return noKernel(missing + ", nor pip. " + aptget.Install(debian, with))
	}
	return noKernel(missing + ". Install it in the terminal: " + command + " ipykernel. A sandbox needs the hosts of PyPI for that; the user can allow them with deft's flag --net=pypi.")
}

// pipTime bounds the question for pip.
const pipTime = 10 * time.Second

// asking is a program that asks Python for pip, and whether the system keeps its packages to itself (PEP 668).
const asking = `import importlib.util, os, sys, sysconfig
print("pip" if importlib.util.find_spec("pip") else "none")
print("managed" if sys.prefix == sys.base_prefix and os.path.exists(os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")) else "free")`

// pip returns the command that installs packages for a Python; not ok if it has no pip.
func pip(ctx context.Context, c Config, python string) (command string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, pipTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-c", asking)
	if c.Command != nil {
		cmd.Path, cmd.Args = c.Command(cmd.Path, cmd.Args)
	}
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.Dir, c.Env, time.Second
	command = python + " -m pip install"
	out, err := cmd.Output()
	switch said := string(out); {
	case err != nil: // a Python that cannot say it shall say so itself
	case strings.Contains(said, "none"):
		return "", false
	case strings.Contains(said, "managed"):
		command += " --break-system-packages"
	}
	return command, true
}
