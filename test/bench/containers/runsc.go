package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// runscRows measure gVisor without Docker.
func (b *bench) runscRows(ctx context.Context) (err error) {
	const what, budget = "gVisor by runsc, cold start of a plain server until it answers", "<= 200 ms"
	if b.runsc == "" {
		b.row(what, budget, "not measured: no runsc (make deps)")
		return nil
	}
	if err := os.MkdirAll(b.runscState(), 0o711); err != nil {
		return err
	}
	defer func() { // runsc mounts an empty network namespace there, and leaves it
		if uerr := unix.Unmount(filepath.Join(b.runscState(), "null-netns"), unix.MNT_DETACH); uerr != nil && err == nil {
			err = fmt.Errorf("unmount runsc's network namespace: %w", uerr)
		}
	}()
	var took []time.Duration
	for i := range b.runs + 1 {
		d, err := b.bundle(ctx, fmt.Sprintf("bench-%d-%d", os.Getpid(), i))
		if err != nil {
			return fmt.Errorf("runsc: %w", err)
		}
		if i > 0 {
			took = append(took, d)
		}
	}
	b.row(what, budget, spread(took))
	return nil
}

func (b *bench) runscState() string { return filepath.Join(b.dir, "runsc") }

// bundle runs the server to compare with in a bundle of its own.
func (b *bench) bundle(ctx context.Context, id string) (took time.Duration, err error) {
	dir := filepath.Join(b.dir, id)
	for _, sub := range []string{"rootfs/proc", "rootfs/run/bench", "socket"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return 0, err
		}
	}
	if err := os.Link(b.server, filepath.Join(dir, "rootfs", "server")); err != nil {
		return 0, err
	}
	config, err := json.Marshal(map[string]any{
		"ociVersion": "1.0.0",
		"process":    map[string]any{"args": []string{"/server", "/run/bench/s"}, "cwd": "/", "user": map[string]int{"uid": 0, "gid": 0}},
		"root":       map[string]any{"path": "rootfs", "readonly": true},
		"mounts": []map[string]any{
			{"destination": "/proc", "type": "proc", "source": "proc"},
			{"destination": "/run/bench", "type": "bind", "source": filepath.Join(dir, "socket"), "options": []string{"rw"}},
		},
		"linux": map[string]any{"namespaces": []map[string]string{{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "network"}}},
	})
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600); err != nil {
		return 0, err
	}
	flags := []string{"--root", b.runscState(), "--platform=systrap", "--host-uds=all", "--network=none", "--ignore-cgroups"}
	run := exec.CommandContext(ctx, b.runsc, append(flags, "run", "--bundle", dir, id)...)
	var said bytes.Buffer
	run.Stdout, run.Stderr = &said, &said
	began := time.Now()
	if err := run.Start(); err != nil {
		return 0, err
	}
	err = answers(ctx, filepath.Join(dir, "socket", "s"))
	took = time.Since(began)
	kill := exec.CommandContext(ctx, b.runsc, append(flags, "kill", id, "KILL")...)
	out, kerr := kill.CombinedOutput()
	if kerr != nil {
		err = errors.Join(err, kerr, run.Process.Kill(), fmt.Errorf("%s", out))
	}
	if _, ended := errors.AsType[*exec.ExitError](run.Wait()); !ended && err == nil {
		err = errors.New("the server ended by itself")
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, said.Bytes())
	}
	return took, os.RemoveAll(dir)
}
