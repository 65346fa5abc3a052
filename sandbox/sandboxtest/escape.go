package sandboxtest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// escapes tries, with a shell, to read hidden files, to change files outside, and to
// learn of the provider and of the sandbox's program.
func escapes(t *testing.T, f *fixture) {
	outside, hidden := filepath.Join(f.base, "beside/file"), filepath.Join(f.base, "work/private/key")
	write := func(path, text string) {
		t.Helper()
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write(outside, "outside")
	write(hidden, "SECRET")
	if f.workspaceOf == nil { // else all of this machine is hidden
		f.spec.Hidden = []string{filepath.Dir(hidden)}
	}
	f.spec.Env = append(f.spec.Env, "DEFT_TEST_SECRET=hunter2")
	// Another workspace in the same provider.
	other := f.spec
	other.ID, other.Hidden = f.spec.ID+"other", nil
	if f.workspaceOf == nil {
		other.Workspace = filepath.Join(f.base, "other")
		write(filepath.Join(other.Workspace, "key"), "SECRET")
	}
	t.Cleanup(func() { must.Report(t, f.Remove(context.WithoutCancel(t.Context()), other.ID)) })
	if _, err := f.Start(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	others := f.workspace(t, other)
	write(filepath.Join(others, "key"), "SECRET")
	s := f.start(t)
	// crun mounts version 1 of the control groups, read-only, in a tmpfs of the container's own
	// that can be written: a directory that is made there is no control group.
	hostLimits := `for f in /sys/fs/cgroup/memory.max /sys/fs/cgroup/pids.max /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/memory.limit_in_bytes /sys/fs/cgroup/*/pids.max /sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/*/release_agent; do test -e $f && (: >>$f) && echo SECRET $f; done; for d in /sys/fs/cgroup/deft /sys/fs/cgroup/memory/deft; do mkdir $d && test -e $d/cgroup.procs && echo SECRET $d; rmdir $d; done`
	if f.ownKernel {
		hostLimits = ":" // it sees none of them
	}
	for name, script := range map[string]string{
		"/proc/self/root":      `cat /proc/self/root$1 /proc/self/root$2/key; echo x >/proc/self/root$1`,
		"/proc/1/root":         `cat /proc/1/root$2/key; echo x >/proc/1/root$1`,
		"/proc/1/cwd":          `cat /proc/1/cwd/../other/key; echo x >/proc/1/cwd/../beside/file`,
		"copied binary":        `cp /bin/cat ./c; ./c $2/key; cp /bin/tee ./t; echo x | ./t $1`,
		"copied binary in tmp": `d=${TMPDIR:-/tmp}; cp /bin/rm $d/r; $d/r -f $1`,
		"through the loader":   `for l in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do $l /bin/rm -f $1; $l /bin/cat $2/key; done`,
		"delete by parent":     `rm -rf ../beside $PWD/../beside`,
		"delete by link":       `ln -s ../beside o; rm -rf o/ o/*; rm -f o/file`,
		"delete by list":       `echo $1 | xargs rm -rf`,
		"move out":             `mv hello $1; mv -f hello ../beside/`,
		"hard link":            `ln $1 f; echo x >f`,
		"link to a secret":     `ln -s $2 s; cat s/key; ln -s / r; cat r$2/key`,
		"by tar":               `tar cf - $2 .. | tr -d '\0'`,
		"hidden":               `cat private/key private/*; cat ../work/private/key`,
		"rename hidden":        `mv private p; cat p/key`,
		"unmount hidden":       `umount $PWD/private; umount -l $PWD/private; cat private/key`,
		"mount over":           `mount -t tmpfs none /tmp; mount -o bind / /mnt; mount -o remount,rw /; cat /mnt$2/key; echo x >$1`,
		"namespaces":           `unshare -Urm sh -c "umount -l $PWD/private; cat private/key; echo x >$1"`,
		"enter namespace":      `nsenter -t 1 -m cat $2/key`,
		"chroot":               `chroot /proc/1/root cat $2/key`,
		"program's memory":     `dd if=/proc/$PPID/mem bs=1 count=1 && echo SECRET; cat <>/proc/$PPID/fd/4 && echo SECRET`,
		"program's variables":  `cat /proc/$PPID/environ /proc/1/environ | tr '\0' '\n' | sed s/hunter2/SECRET/`,
		"user of outside":      `su root -c "cat $2/key"; sudo -n cat $2/key`,
		"core pattern":         `echo '|/bin/sh' >/proc/sys/kernel/core_pattern && echo SECRET`,
		"kernel's settings":    `echo 1 >/proc/sys/kernel/sysrq && echo SECRET; echo b >/proc/sysrq-trigger && echo SECRET; echo 0 >/proc/sys/vm/overcommit_memory && echo SECRET`,
		"kernel's memory":      `test -n "$(head -c 1 /proc/kcore | od -An -c)" && echo SECRET; test -n "$(head -c 1 /dev/mem | od -An -c)" && echo SECRET`,
		"open descriptors":     `for f in 3 4 5 6 7 8 9; do test -e /proc/$$/fd/$f && echo SECRET $f; done`,
		"own limits":           hostLimits + `; (ulimit -Hn 1000000 && echo SECRET); (ulimit -Hc 1000 && echo SECRET)`,
		"provider":             `cat "$3"/*/* && echo SECRET; cat "$3"/*/run/journal && echo SECRET; ls "$3" && echo SECRET`,
		"engine's socket":      `test -S /var/run/docker.sock && echo SECRET; test -S /run/podman/podman.sock && echo SECRET`,
	} {
		got := ask(t, s, request{Argv: []string{"/bin/sh", "-c", "exec 2>&1; " + script, "sh", outside, others, f.dir}})
		if strings.Contains(got.Out, "SECRET") {
			t.Errorf("%s: %s", name, got.Out)
		}
		if text, err := os.ReadFile(outside); err != nil || string(text) != "outside" {
			t.Errorf("%s: the file outside reads %q, %v", name, text, err)
			write(outside, "outside")
		}
	}
	if text, err := os.ReadFile(hidden); err != nil || string(text) != "SECRET" {
		t.Errorf("the hidden file in the workspace reads %q, %v", text, err)
	}
}
