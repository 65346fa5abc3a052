package agentserver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
)

// orphansTimeout bounds the search for orphans: an engine that does not answer must
// not keep the server from starting.
const orphansTimeout = 20 * time.Second

// removeOrphans removes the containers of conversations that do not exist any more,
// as when one was deleted while the engine did not run. Without an engine it says so:
// conversations need it, the server does not.
func (s *services) removeOrphans(ctx context.Context) {
	if s.backend.Containers == nil || s.backend.Orphans == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, orphansTimeout)
	defer cancel()
	n, err := s.backend.Orphans.RemoveOrphans(ctx, s.backend.Containers.Docker.SandboxClass, s.sessions.Load().Exists)
	if n > 0 {
		s.log.Warn("removed containers without a conversation", "containers", n)
	}
	if err != nil {
		s.log.Warn("look for containers without a conversation", "err", err, "hint", fault.HintOf(err))
		return
	}
	s.adoptContainers(ctx)
}

// adoptContainers has the containers that an earlier server has paused end in time, and
// connects to those that it has left running: they would end with their grace time, and now
// are paused when nothing has used them for the idle time.
func (s *services) adoptContainers(ctx context.Context) {
	c := s.backend.Containers
	all, err := c.Sandboxes.SandboxStates(ctx, c.Docker)
	if err != nil {
		s.log.Warn("look for paused containers", "err", err, "hint", fault.HintOf(err))
		return
	}
	var left []event.ConversationID
	for id, status := range all {
		if status.State == sandbox.Paused {
			s.sessions.Load().AddPaused(id, func(ctx context.Context) error { return c.Sandboxes.StopSandbox(ctx, c.Docker, id) })
		} else {
			left = append(left, id)
		}
	}
	s.tasks.start(func(ctx context.Context) {
		for _, id := range left {
			if err := s.connect(ctx, id); err != nil && ctx.Err() == nil {
				s.log.Warn("connect to a container that an earlier server has left running", "conversation", id, "err", err, "hint", fault.HintOf(err))
			}
		}
	})
}

// connect connects to the sandbox of a conversation, unless another server uses it.
func (s *services) connect(ctx context.Context, id event.ConversationID) error {
	c, err := s.sessions.Load().Get(ctx, id)
	if err == nil {
		err = c.Environment().Ready(ctx)
	}
	if errors.Is(err, session.ErrLocked) || errors.Is(err, session.ErrArchived) {
		return nil
	}
	return err
}

// inContainer reports whether this machine, with its root directory and the
// environment of this process, looks like a container: by the files that Docker and
// Podman make, the variable that most managers of containers set, and the variables
// of Kubernetes.
func inContainer(env func(string) string, root string) bool {
	for _, name := range []string{"container", "KUBERNETES_SERVICE_HOST"} {
		if env(name) != "" {
			return true
		}
	}
	for _, name := range []string{".dockerenv", "run/.containerenv", "run/systemd/container"} {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			return true
		}
	}
	groups, err := os.ReadFile(filepath.Join(root, "proc/1/cgroup"))
	if err != nil {
		return false // it does not look like one
	}
	for _, manager := range []string{"docker", "kubepods", "containerd", "libpod", "lxc"} {
		if strings.Contains(string(groups), manager) {
			return true
		}
	}
	return false
}

// archivePeriod is how often conversations that nobody uses any more are looked for.
const archivePeriod = time.Hour

// startArchiving archives the conversations in containers that were not used for
// conversation_storage_retention_days, now and every hour, until the tasks are stopped.
func (s *services) startArchiving() {
	days := s.cfg.ConversationStorageRetentionDays
	if days == nil || s.backend.Containers == nil {
		return
	}
	keep := time.Duration(*days * 24 * float64(time.Hour))
	s.tasks.start(func(ctx context.Context) {
		tick := time.NewTicker(archivePeriod)
		defer tick.Stop()
		for {
			s.archiveUnused(ctx, time.Now().Add(-keep))
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

func (s *services) archiveUnused(ctx context.Context, since time.Time) {
	class := s.backend.Containers.Docker.SandboxClass
	n, err := s.sessions.Load().ArchiveUnused(ctx, since, func(p session.Placement) bool { return p.SandboxClass == class })
	if n > 0 {
		s.log.Warn("archived conversations that nobody has used", "conversations", n, "since", since)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("archive conversations that nobody has used", "err", err, "hint", fault.HintOf(err))
	}
}

// tasks are a server's work beside its requests. They are started while it is
// opened.
type tasks struct {
	cancels []context.CancelFunc
	running sync.WaitGroup
}

// start runs one until its context ends, which stop does.
func (t *tasks) start(run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	t.cancels = append(t.cancels, cancel)
	t.running.Go(func() { run(ctx) })
}

// stop ends all, and waits for that.
func (t *tasks) stop() {
	for _, cancel := range t.cancels {
		cancel()
	}
	t.running.Wait()
}
