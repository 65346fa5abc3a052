package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/deft-dev/deft/eventstream"
)

// channel is the name of the channel on which processes notify each other. Each schema
// has its own.
func (s *Store) channel() string { return "deft_events_" + strconv.FormatUint(uint64(s.schema), 10) }

// startListening listens for events that other processes store, from the first
// follower on.
func (s *Store) startListening() {
	s.listen.Do(func() { s.wg.Go(s.listenForever) })
}

// listenForever connects again whenever the connection is lost. Followers are woken each
// time it is connected: changes before may have been missed.
func (s *Store) listenForever() {
	for pause := retryPause; ; {
		connected, err := s.listenOnce(s.ctx)
		if s.ctx.Err() != nil {
			return
		}
		if connected {
			pause = retryPause
		}
		s.log.Warn("the connection for the events of other processes was lost", "err", storage(err), "retry", pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			timer.Stop()
			return
		}
		pause = min(2*pause, retryPauseMax)
	}
}

// listenOnce listens until the connection is lost. connected is false if there was none.
func (s *Store) listenOnce(ctx context.Context) (connected bool, err error) {
	c, err := pgx.ConnectConfig(ctx, s.config.Copy())
	if err != nil {
		return false, err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if _, err := c.Exec(ctx, "LISTEN "+s.channel()); err != nil {
		return false, fmt.Errorf("listen: %w", err)
	}
	s.topics.staleAll()
	for {
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return true, err
		}
		for one := range strings.FieldsSeq(n.Payload) {
			s.noticed(one)
		}
	}
}

// noticed takes in KEY:SEQ of a notification. Other notifications are ignored.
func (s *Store) noticed(payload string) {
	k, q, _ := strings.Cut(payload, ":")
	key, err := strconv.ParseInt(k, 10, 64)
	if err != nil {
		return
	}
	seq, err := strconv.ParseInt(q, 10, 64)
	switch {
	case err != nil:
	case seq == 0:
		s.topics.stale(key)
	default:
		s.topics.notice(key, eventstream.Seq(seq))
	}
}
