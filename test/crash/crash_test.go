package crash_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// victim says what is killed.
type victim int

const (
	controller victim = iota // deft run
	both                     // and the supervisor at the same instant
	server                   // the supervisor alone
)

// tally counts over all tasks of a test.
type tally struct {
	tasks, kills, spared         int // spared: no supervisor was there to kill
	actions, interrupted, missed int
	strays                       int // processes that outlived their supervisor
}

func (n tally) String() string {
	return fmt.Sprintf("%d kills in %d tasks of %d actions; answers that say interrupted: %d, of these without effect: %d; not counted, as there was no supervisor yet: %d; processes that outlived a killed supervisor: %d",
		n.kills, n.tasks, n.actions, n.interrupted, n.missed, n.spared, n.strays)
}

func TestControllerKilled(t *testing.T) {
	t.Parallel()
	if n := prove(t, controller, points(t, 300)); n.strays > 0 {
		t.Errorf("%d processes were left", n.strays)
	}
}

func TestBothKilled(t *testing.T) {
	t.Parallel()
	if n := prove(t, both, points(t, 300)); n.strays > 0 {
		t.Errorf("%d processes were left", n.strays)
	}
}

func TestSupervisorKilled(t *testing.T) {
	t.Parallel()
	if n := prove(t, server, points(t, 100)); n.strays > 0 {
		t.Errorf("%d processes were left", n.strays)
	}
}

// undisturbed is how long a task takes when nothing is killed, once measured
// by calibrate.
var (
	undisturbed time.Duration
	calibrated  sync.Once
)

func calibrate(t *testing.T) {
	calibrated.Do(func() {
		undisturbed = 2 * time.Second // if it fails, the test ends anyway
		b := setup(t)
		began := time.Now()
		if l := b.live(task); !l.wait() {
			t.Fatalf("deft run ended with %v and said: %s", l.err, l.stderr.String())
		}
		undisturbed = time.Since(began)
		b.inspect()
		t.Logf("undisturbed: %s", undisturbed.Round(time.Millisecond))
	})
}

// prove works on tasks until there were enough kills.
func prove(t *testing.T, who victim, want int, flags ...string) (n tally) {
	calibrate(t)
	r, began := dice(t), time.Now()
	for n.kills < want && !t.Failed() {
		t.Run(fmt.Sprint("task", n.tasks), func(t *testing.T) {
			b := setup(t, flags...)
			(&trial{bench: b, dice: r, who: who, left: want - n.kills, sum: &n, spaces: spaces{}}).run()
		})
		n.tasks++
	}
	t.Logf("%s; %s", n, time.Since(began).Round(time.Millisecond))
	return n
}

// trial is one task with its kills.
type trial struct {
	*bench
	dice   *rand.Rand
	who    victim
	left   int // kills that are still wanted
	sum    *tally
	spaces spaces // of supervisors
}

func (c *trial) run() {
	for {
		h := c.history()
		args := []string{task}
		if h.id != "" {
			args = []string{"--resume", string(h.id)}
			if !h.told() {
				args = append(args, task)
			}
		}
		l := c.once(args)
		if l.err == nil {
			break
		}
		if !l.killed() {
			c.t.Errorf("%s: deft run ended with %v and said: %s", c.dir, l.err, l.stderr.String())
			return
		}
	}
	v := c.inspect()
	if c.who == controller && v.interrupted > 0 {
		c.t.Errorf("%s: %d actions were called interrupted, though their supervisor lived", c.dir, v.interrupted)
	}
	c.sum.actions += v.actions
	c.sum.interrupted += v.interrupted
	c.sum.missed += v.missing
	c.leftovers()
}

// once lets deft live until it is killed or done.
func (c *trial) once(args []string) *life {
	if c.who == server {
		return c.haunt(args)
	}
	var l *life
	alive := make(chan struct{})
	struck, spared := false, false
	cancel := func() {}
	if c.left > 0 {
		cancel = c.at(c.moment(), func() {
			<-alive
			struck, spared = true, c.strike(l)
		})
	}
	l = c.live(args...)
	close(alive)
	<-l.ended
	cancel()
	switch {
	case !struck || !l.killed():
	case spared:
		c.sum.spared++
	default:
		c.sum.kills++
		c.left--
	}
	return l
}

// strike kills what is to be killed, and reports whether there was no
// supervisor to be killed with the controller.
func (c *trial) strike(l *life) (spared bool) {
	if c.who == controller {
		_ = l.cmd.Process.Kill() // fails only if it has ended
		if s := c.supervisor(); s != nil {
			c.spaces.add(s)
			s.forget()
		}
		return false
	}
	s := c.supervisor()
	if s == nil {
		_ = l.cmd.Process.Kill()
		return true
	}
	c.spaces.add(s)
	if c.dice.IntN(2) == 0 {
		_ = l.cmd.Process.Kill()
	}
	if err := s.kill(); err != nil {
		c.t.Error(err)
	}
	_ = l.cmd.Process.Kill() // a second time does no harm
	<-l.ended
	if err := s.release(); err != nil {
		c.t.Error(err)
	}
	return false
}

// haunt lets deft live to its end and kills its supervisors meanwhile.
func (c *trial) haunt(args []string) *life {
	l := c.live(args...)
	for c.left > 0 {
		struck := make(chan bool, 1)
		cancel := c.at(c.moment(), func() {
			s := c.supervisor()
			if s == nil {
				struck <- false
				return
			}
			c.spaces.add(s)
			if err := s.kill(); err != nil {
				c.t.Error(err)
			}
			if err := s.release(); err != nil {
				c.t.Error(err)
			}
			struck <- true
		})
		c.saw(started)
		select {
		case <-l.ended:
		case hit := <-struck:
			cancel()
			if hit {
				c.sum.kills++
				c.left--
			}
			continue
		}
		cancel()
		break
	}
	<-l.ended
	return l
}

// moment draws the next point: a time, or one that is seen from outside.
func (c *trial) moment() moment {
	m := moment{sign: started, n: 1}
	soon := time.Duration(0) // half of the seen moments strike at once
	if c.dice.IntN(2) == 0 {
		soon = time.Duration(c.dice.Int64N(int64(4 * time.Millisecond)))
	}
	switch c.dice.IntN(5) {
	case 0: // anywhere in an undisturbed run
		m.after = time.Duration(c.dice.Int64N(int64(undisturbed)))
	case 1: // while it starts
		m.after = time.Duration(c.dice.Int64N(int64(undisturbed / 8)))
	case 2:
		m = moment{asked, 1 + c.dice.IntN(6), soon}
	case 3:
		m = moment{effected, 1 + c.dice.IntN(8), soon}
	case 4:
		m = moment{shown, 1 + c.dice.IntN(24), soon}
	}
	return m
}

// leftovers finds processes that have outlived the task.
func (c *trial) leftovers() {
	left := c.remain(c.spaces)
	c.sum.strays += len(left)
	for _, p := range left {
		c.t.Logf("%s: process %d is left: %s", c.dir, p.pid, p.what)
	}
	c.end(left)
}
