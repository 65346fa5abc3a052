package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/wait"
)

// orphans is for how many conversations Watch calls orphaned at a time.
const orphans = 16

// Watch implements session.LockWatcher. All processes that watch are in a ring: each
// tries to get the advisory lock of the next one, which the server gives it when that one
// has ended. Locks of a process that has ended go to the one that noticed it, in one
// transaction, so that they are noticed again should that one end too.
func (l *Locks) Watch(ctx context.Context, orphaned, lost func(event.ConversationID)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	l.mu.Lock()
	l.lost = lost
	l.mu.Unlock()
	for {
		err := l.watchOnce(ctx, orphaned)
		switch {
		case ctx.Err() != nil:
			return l.s.failed(ctx, ctx.Err())
		case err == nil:
			continue
		}
		l.s.log.Warn("watch for processes that end", "err", storage(err))
		timer := time.NewTimer(retryPauseMax)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// watchOnce takes over from the processes that have ended, and waits for the next one to
// end or for a change of the ring.
func (l *Locks) watchOnce(ctx context.Context, orphaned func(event.ConversationID)) error {
	me, err := l.register(ctx)
	if err != nil {
		return err
	}
	select {
	case <-l.changed: // later notices are looked at next time
	default:
	}
	config := l.s.config.Copy()
	cancelQueries(config)
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	tag, err := c.Exec(ctx, "UPDATE processes SET watching = true WHERE id = $1 AND NOT watching", me)
	if err == nil && tag.RowsAffected() > 0 {
		err = l.announce(ctx)
	}
	if err != nil {
		return err
	}
	ended, err := numbers(ctx, c, "SELECT p.id FROM processes p WHERE p.id <> $1 AND NOT "+alive, me)
	if err != nil {
		return err
	}
	if len(ended) == 0 {
		next, err := numbers(ctx, c, "SELECT id FROM processes WHERE watching AND id <> $1 ORDER BY id > $1 DESC, id LIMIT 1", me)
		if err != nil {
			return err
		}
		return l.waitFor(ctx, c, next)
	}
	if err := wait.For(ctx, takeOverDelay); err != nil {
		return err
	}
	for _, process := range ended {
		if err := l.takeOver(ctx, c, me, process, orphaned); err != nil {
			return err
		}
	}
	return nil
}

func numbers(ctx context.Context, c *pgx.Conn, sql string, args ...any) ([]int32, error) {
	rows, err := c.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int32])
}

// lookPause is how long a process waits before it looks again whether the next one has ended.
// To wait in the server for its lock would be a statement of hours: as long as one is under
// way, vacuum removes no row of any table that was replaced since it began.
const lookPause = time.Second

// waitFor returns when the process next has ended, if there is one, or when the processes
// have changed.
func (l *Locks) waitFor(ctx context.Context, c *pgx.Conn, next []int32) error {
	var look <-chan time.Time
	if len(next) > 0 {
		ticker := time.NewTicker(lookPause)
		defer ticker.Stop()
		look = ticker.C
	}
	for {
		select {
		case <-l.changed:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-look:
		}
		var ended bool // then the connection is closed, which unlocks
		// The lock is shared, so that several may look at one process.
		err := c.QueryRow(ctx, "SELECT pg_try_advisory_lock_shared($1, $2)", int32(l.s.schema), next[0]).Scan(&ended)
		if err != nil || ended {
			return err
		}
	}
}

// takeOver takes the locks of a process that has ended, unless it is connected again, and
// calls orphaned for the conversations. Conversations that orphaned does not acquire are
// unlocked.
func (l *Locks) takeOver(ctx context.Context, c *pgx.Conn, me, process int32, orphaned func(event.ConversationID)) error {
	var ended bool
	// As long as this is held the process cannot come back.
	if err := c.QueryRow(ctx, "SELECT pg_try_advisory_lock_shared($1, $2)", int32(l.s.schema), process).Scan(&ended); err != nil || !ended {
		return err
	}
	var ids []event.ConversationID
	err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		// Appends of the process are over when these rows are locked.
		if _, err := tx.Exec(ctx, "SELECT FROM conversations WHERE id IN (SELECT conversation FROM locks WHERE process = $1) ORDER BY key FOR UPDATE", process); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, "UPDATE locks SET process = $1 WHERE process = $2 RETURNING conversation", me, process)
		if err != nil {
			return err
		}
		stored, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, s := range stored {
			id, bad := decodeText(s)
			if err = errors.Join(err, bad); err == nil {
				ids = append(ids, event.ConversationID(id))
			}
		}
		if err == nil {
			_, err = tx.Exec(ctx, "DELETE FROM processes WHERE id = $1", process)
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "SELECT pg_advisory_unlock_shared($1, $2)", int32(l.s.schema), process)
	l.s.log.Info("took over from a process that has ended", "conversations", len(ids))
	var all errgroup.Group
	all.SetLimit(orphans)
	for _, id := range ids {
		all.Go(func() error {
			orphaned(id)
			return l.unlock(ctx, id, me)
		})
	}
	return errors.Join(err, all.Wait())
}

// unlock removes the row of a lock that this process has taken over, unless it was
// acquired.
func (l *Locks) unlock(ctx context.Context, id event.ConversationID, me int32) error {
	e, err := l.reserve(ctx, id)
	if fault.Is(err, fault.Conflict) {
		return nil // it is held
	}
	if err != nil {
		return err
	}
	defer l.forget(id, e)
	_, err = l.s.pool.Exec(ctx, "DELETE FROM locks WHERE conversation = $1 AND process = $2", encodeText(string(id)), me)
	return err
}
