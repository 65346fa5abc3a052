package agentserver

import (
	"context"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session"
)

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
