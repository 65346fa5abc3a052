package postgres

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deft-dev/deft/event"
)

// A process that has lost its connection tries for reconnectTime to get it back; then it
// takes its locks for lost. Other processes wait longer than that before they take over.
const (
	reconnectTime = 3 * time.Second
	takeOverDelay = 4 * time.Second
)

// register returns the id of this process. It connects if need be, and keeps the
// connection as long as that lasts.
func (l *Locks) register(ctx context.Context) (int32, error) {
	l.registering.Lock()
	defer l.registering.Unlock()
	l.mu.Lock()
	process, closed := l.process, l.closed
	l.mu.Unlock()
	switch {
	case closed:
		return 0, errClosed
	case process != 0:
		return process, nil
	}
	c, err := l.connect(ctx)
	if err != nil {
		return 0, l.s.failed(ctx, err)
	}
	// Nobody sees the row before the advisory lock is held.
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, "INSERT INTO processes (address) VALUES ($1) RETURNING id", encodeText(l.s.address)).Scan(&process); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "SELECT pg_advisory_lock($1, $2)", int32(l.s.schema), process)
		return err
	})
	if err != nil {
		return 0, l.s.failed(ctx, errors.Join(err, c.Close(context.WithoutCancel(ctx))))
	}
	l.mu.Lock()
	l.process = process
	l.mu.Unlock()
	l.wg.Go(func() { l.keep(c, process) })
	return process, nil
}

// channel is the name of the channel on which changes of the processes are announced.
func (l *Locks) channel() string {
	return "deft_processes_" + strconv.FormatUint(uint64(l.s.schema), 10)
}

func (l *Locks) announce(ctx context.Context) error {
	_, err := l.s.pool.Exec(ctx, "SELECT pg_notify($1, '')", l.channel())
	return err
}

// connect makes the connection that stands for this process.
func (l *Locks) connect(ctx context.Context) (*pgx.Conn, error) {
	c, err := pgx.ConnectConfig(ctx, l.s.config.Copy())
	if err != nil {
		return nil, err
	}
	for _, sql := range []string{
		// The server notices a machine that has vanished. Some systems cannot do that.
		"SET tcp_keepalives_idle = 4", "SET tcp_keepalives_interval = 2", "SET tcp_keepalives_count = 2", "SET tcp_user_timeout = 8000",
	} {
		_, _ = c.Exec(ctx, sql)
	}
	if _, err := c.Exec(ctx, "LISTEN "+l.channel()); err != nil {
		return nil, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// keep holds the connection of a process until the locks are closed, or until the process
// counts as ended for others.
func (l *Locks) keep(c *pgx.Conn, process int32) {
	for {
		err := l.wait(c)
		_ = c.Close(context.WithoutCancel(l.ctx)) // it is lost, or not needed any more
		if l.ctx.Err() != nil {
			return
		}
		l.s.log.Warn("the connection that holds the locks of conversations was lost", "err", storage(err))
		if c = l.reconnect(process); c == nil {
			break
		}
	}
	l.mu.Lock()
	l.process = 0
	l.mu.Unlock()
	l.lose(process, l.heldBy(process))
	l.signal()
}

// wait passes on announcements until the connection is lost.
func (l *Locks) wait(c *pgx.Conn) error {
	for {
		l.signal()
		if _, err := c.WaitForNotification(l.ctx); err != nil {
			return err
		}
	}
}

// signal has Watch look at the processes.
func (l *Locks) signal() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// reconnect gets the connection of a process back; nil if that is too late.
func (l *Locks) reconnect(process int32) *pgx.Conn {
	ctx, cancel := context.WithTimeout(l.ctx, reconnectTime)
	defer cancel()
	for {
		c, err := l.connect(ctx)
		if err == nil {
			var held, known bool
			err = c.QueryRow(ctx, "SELECT pg_try_advisory_lock($1, $2), EXISTS (SELECT 1 FROM processes WHERE id = $2)", int32(l.s.schema), process).Scan(&held, &known)
			if err == nil && held && known {
				if err = l.compare(ctx, c, process); err == nil {
					return c
				}
			}
			_ = c.Close(context.WithoutCancel(ctx))
			if err == nil && !known { // another process has taken over
				return nil
			}
		}
		timer := time.NewTimer(retryPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

// compare finds out which locks others have taken while the process was not connected.
func (l *Locks) compare(ctx context.Context, c *pgx.Conn, process int32) error {
	held := l.heldBy(process)
	rows, err := c.Query(ctx, "SELECT conversation FROM locks WHERE process = $1", process)
	if err != nil {
		return err
	}
	mine, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (event.ConversationID, error) {
		var id string
		if err := row.Scan(&id); err != nil {
			return "", err
		}
		id, err := decodeText(id)
		return event.ConversationID(id), err
	})
	if err == nil {
		l.lose(process, slices.DeleteFunc(held, func(id event.ConversationID) bool { return slices.Contains(mine, id) }))
	}
	return err
}
