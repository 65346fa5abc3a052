package docker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker/internal/inside"
	"github.com/deft-dev/deft/sandbox/internal/limits"
	"github.com/deft-dev/deft/sandbox/internal/repository"
)

// check validates s and resolves the symbolic links in its paths.
func (p *Provider) check(s sandbox.Spec) (sandbox.Spec, error) {
	if !validID().MatchString(s.ID) {
		return s, fault.New(fault.Invalid, "not a sandbox id: "+s.ID)
	}
	if len(s.Argv) == 0 || !filepath.IsAbs(s.Argv[0]) {
		return s, fault.New(fault.Invalid, "the sandbox's program must be an absolute path")
	}
	if !filepath.IsAbs(s.Workspace) {
		return s, fault.New(fault.Invalid, "the workspace must be an absolute path: "+s.Workspace)
	}
	real, err := filepath.EvalSymlinks(s.Workspace)
	if err != nil {
		return s, fault.Wrap(err, fault.Invalid, "cannot use the workspace")
	}
	if fi, err := os.Stat(real); err != nil || !fi.IsDir() {
		return s, fault.New(fault.Invalid, "the workspace is not a directory: "+real)
	}
	s.Workspace = real
	if err := repository.Check(real); err != nil {
		return s, err
	}
	for _, dir := range slices.Concat([]string{real}, s.Readable, s.Writable) {
		if dir == "/" || !path.IsAbs(dir) || slices.ContainsFunc([]string{"/proc", "/sys", "/dev", "/.deft"}, func(no string) bool { return within(dir, no) }) {
			return s, fault.New(fault.Invalid, "a container cannot be given "+dir).Hint("use a project's directory")
		}
	}
	if s.Network, err = sandbox.ParseNetwork(string(s.Network)); err != nil {
		return s, err
	}
	s.Container.Image = cmp.Or(s.Container.Image, p.opt.Image)
	s.Container.Pull = cmp.Or(s.Container.Pull, sandbox.PullMissing)
	if !slices.Contains([]string{sandbox.PullMissing, sandbox.PullAlways, sandbox.PullNever}, s.Container.Pull) {
		return s, fault.New(fault.Invalid, "unknown pull policy "+s.Container.Pull).Hint("use missing, always or never")
	}
	if s.Container.User == "" {
		if s.Container.User, err = ownerOf(real); err != nil {
			return s, err
		}
	}
	return s, p.checkMounts(s)
}

func ownerOf(dir string) (string, error) {
	fi, err := os.Stat(dir)
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, "cannot use the workspace")
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return "", fault.New(fault.Unsupported, "the owner of "+dir+" is not known")
	}
	return fmt.Sprintf("%d:%d", st.Uid, st.Gid), nil
}

// within reports whether a path is dir, or below it.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// key changes with the parameters that a running container must be started with.
// The environment, which may hold secrets, is not part of it.
func (p *Provider) key(s sandbox.Spec) string {
	s.Env, s.AlsoHidden = nil, nil
	raw, err := json.Marshal(s)
	if err != nil { // strings, numbers and lists of them
		panic(err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// createOptions describe the container.
func (p *Provider) createOptions(ctx context.Context, s sandbox.Spec) (client.ContainerCreateOptions, error) {
	c := s.Container
	mounts, err := p.mounts(s)
	if err != nil {
		return client.ContainerCreateOptions{}, err
	}
	byRuntime, err := p.loopbackByRuntime(ctx, c.Runtime)
	if err != nil {
		return client.ContainerCreateOptions{}, err
	}
	held := limits.WithDefaults(s.Limits)
	pids := int64(held.PIDs)
	init := false
	host := &container.HostConfig{
		NetworkMode: "none", IpcMode: "private", CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"},
		Mounts: mounts, ReadonlyRootfs: c.ReadOnly, Runtime: c.Runtime, Init: &init,
		LogConfig: container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "1m", "max-file": "1"}},
		Resources: container.Resources{PidsLimit: &pids, NanoCPUs: int64(max(0, held.CPUs) * 1e9), Memory: max(0, held.MemoryBytes), MemorySwap: max(0, held.MemoryBytes)},
	}
	if c.ReadOnly {
		host.Tmpfs = map[string]string{"/tmp": "mode=1777,exec", "/run": "mode=755"}
	}
	if c.DiskBytes > 0 {
		host.StorageOpt = map[string]string{"size": strconv.FormatInt(c.DiskBytes, 10)}
	}
	if c.GPUs != "" && c.GPUs != sandbox.NoGPUs {
		host.DeviceRequests = []container.DeviceRequest{gpus(c.GPUs)}
	}
	if err := p.forPodman(ctx, host); err != nil {
		return client.ContainerCreateOptions{}, err
	}
	return client.ContainerCreateOptions{
		Name: p.name(s.ID),
		Config: &container.Config{
			Image: c.Image, User: c.User, WorkingDir: s.Workspace, Hostname: hostname, NetworkDisabled: byRuntime,
			Entrypoint: []string{inside.Self}, Cmd: []string{inside.Arg}, Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
			StopTimeout: new(1), // the program ignores signals, and an engine that ends would wait longer
			Labels: map[string]string{
				labelOwner: p.owner, labelID: s.ID, labelKey: p.key(s), labelWork: s.Workspace, labelImage: c.Image, labelNet: string(s.Network),
			},
		},
		HostConfig: host,
	}, nil
}

// gpus reads "all", a number, or a list of ids.
func gpus(text string) container.DeviceRequest {
	r := container.DeviceRequest{Capabilities: [][]string{{"gpu"}}}
	if n, err := strconv.Atoi(text); err == nil {
		r.Count = n
	} else if text == "all" {
		r.Count = -1
	} else {
		r.DeviceIDs = strings.Split(text, ",")
	}
	return r
}

// program is the binary that is mounted into a container.
func (p *Provider) program(s sandbox.Spec) string {
	if slices.Contains(p.opt.Programs, s.Argv[0]) {
		return s.Argv[0]
	}
	return p.opt.Self
}

// mounts are the binary, the directory for the start, the workspace and the
// granted directories; then the names of hosts, and the covers of hidden paths.
func (p *Provider) mounts(s sandbox.Spec) ([]mount.Mount, error) {
	all := []mount.Mount{
		bind(p.program(s), inside.Self, true), bind(filepath.Join(p.dir(s.ID), runDir), inside.Run, false), bind(s.Workspace, s.Workspace, false),
	}
	granted := p.granted(s)
	for _, dir := range slices.Sorted(maps.Keys(granted)) {
		all = append(all, bind(dir, dir, !granted[dir]))
	}
	for i, m := range s.Container.Mounts {
		more, err := p.mountOf(s, i, m)
		if err != nil {
			return nil, err
		}
		all = append(all, more)
	}
	shown := slices.Clone(all[2:])
	if !s.Network.None() {
		all = append(all, bind(filepath.Join(p.dir(s.ID), relayDir), inside.Relay, true))
	}
	own := []string{hostsName}
	bounded := s.Container.ReadOnly || s.Container.DiskBytes > 0
	if bounded {
		own = append(own, names...) // the engine's could be written, and are on this machine's disk
	}
	for _, name := range own {
		target := path.Join("/etc", name)
		if !slices.ContainsFunc(s.Container.Mounts, func(m sandbox.Mount) bool { return path.Clean(m.Target) == target }) {
			all = append(all, bind(filepath.Join(p.dir(s.ID), name), target, bounded))
		}
	}
	for _, m := range s.Container.Mounts {
		if m.Mode == sandbox.MountOverlay {
			shown = append(shown, bind(realpath.Resolve(m.Source), path.Clean(m.Target), false))
		}
	}
	hides := slices.Concat([]string{p.opt.Dir}, p.opt.Hidden, s.Hidden, s.AlsoHidden)
	slices.Sort(hides) // directories before their content
	for _, m := range shown {
		var covered []string
		for _, hidden := range hides {
			isAround := func(dir string) bool { return within(hidden, dir) }
			if m.Type != mount.TypeBind || !within(hidden, m.Source) || slices.ContainsFunc(covered, isAround) {
				continue
			}
			fi, err := os.Lstat(hidden)
			if err != nil {
				continue // nothing to hide; files that are made there later belong to their maker
			}
			covered = append(covered, hidden)
			target := m.Target + strings.TrimPrefix(hidden, m.Source)
			if fi.IsDir() {
				// A tmpfs would do with Docker; Podman copies the files below into it.
				all = append(all, bind(filepath.Join(p.dir(s.ID), emptyDir), target, true))
			} else {
				all = append(all, bind(os.DevNull, target, true))
			}
		}
	}
	return all, nil
}

// granted are the directories and files outside the workspace that appear at their own
// paths, and whether they are writable: the repository around it, and the user's
// grants.
func (p *Provider) granted(s sandbox.Spec) map[string]bool {
	all := map[string]bool{}
	for _, g := range repository.Grants(s.Workspace, p.opt.Home, s.Writable) {
		all[g.Path] = g.Writable
	}
	for _, dir := range s.Readable {
		if _, known := all[dir]; !known {
			all[dir] = false
		}
	}
	for _, dir := range s.Writable {
		all[dir] = true
	}
	delete(all, s.Workspace)
	return all
}
