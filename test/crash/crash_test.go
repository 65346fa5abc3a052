package crash_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/deft-dev/deft/internal/must"
)

// target says which processes are killed.
type target int

const (
	controller target = iota // deft run
	both                     // and the supervisor at the same instant
	server                   // the supervisor alone
)

// counts are totals over all tasks of a test.
type counts struct {
	tasks, kills, unsupervised   int // unsupervised: there was no supervisor to kill
	actions, interrupted, missed int
	survivors                    int // processes that outlived their supervisor
}

func (n counts) String() string {
	return fmt.Sprintf("%d kills in %d tasks of %d actions; answers that say interrupted: %d, of these without effect: %d; not counted, as there was no supervisor yet: %d; processes that outlived a killed supervisor: %d",
		n.kills, n.tasks, n.actions, n.interrupted, n.missed, n.unsupervised, n.survivors)
}

func TestControllerKilled(t *testing.T) {
	t.Parallel()
	killDuringTasks(t, controller, points(t, 300))
}

func TestBothKilled(t *testing.T) {
	t.Parallel()
	killDuringTasks(t, both, points(t, 300))
}

func TestSupervisorKilled(t *testing.T) {
	t.Parallel()
	killDuringTasks(t, server, points(t, 100))
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
		if l := b.startDeft(task); !l.wait() {
			t.Fatalf("deft run ended with %v and said: %s", l.err, l.stderr.String())
		}
		undisturbed = time.Since(began)
		b.inspect()
		t.Logf("undisturbed: %s", undisturbed.Round(time.Millisecond))
	})
}

// killDuringTasks runs tasks until there were enough kills. All processes of a task end, but
// for those whose supervisor was killed outside a namespace (flags choose the isolation).
func killDuringTasks(t *testing.T, who target, want int, flags ...string) {
	var n counts
	calibrate(t)
	r, began := random(t), time.Now()
	for n.kills < want && !t.Failed() {
		t.Run(fmt.Sprint("task", n.tasks), func(t *testing.T) {
			b := setup(t, flags...)
			(&trial{bench: b, rng: r, who: who, left: want - n.kills, sum: &n, spaces: spaces{}, mayOutlive: who != controller && len(flags) > 0}).run()
		})
		n.tasks++
	}
	t.Logf("%s; %s", n, time.Since(began).Round(time.Millisecond))
}

// trial is one task with its kills.
type trial struct {
	*bench
	rng    *rand.Rand
	who    target
	left   int // kills that are still wanted
	sum    *counts
	spaces spaces // of supervisors

	mayOutlive bool // processes may outlive their supervisor
}

func (c *trial) run() {
	for {
		h := c.history()
		args := []string{task}
		if h.id != "" {
			args = []string{"--resume", string(h.id)}
			if !h.hasTask() {
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
		c.t.Errorf("%s: %d actions were reported as interrupted, although their supervisor survived", c.dir, v.interrupted)
	}
	c.sum.actions += v.actions
	c.sum.interrupted += v.interrupted
	c.sum.missed += v.missing
	c.leftovers()
}

// once runs deft until it is killed or done.
func (c *trial) once(args []string) *deftRun {
	if c.who == server {
		return c.killSupervisors(args)
	}
	var l *deftRun
	alive := make(chan struct{})
	killed, unsupervised := false, false
	cancel := func() {}
	if c.left > 0 {
		cancel = c.at(c.moment(), func() {
			<-alive
			killed, unsupervised = true, c.kill(l)
		})
	}
	l = c.startDeft(args...)
	close(alive)
	<-l.ended
	cancel()
	switch {
	case !killed || !l.killed():
	case unsupervised:
		c.sum.unsupervised++
	default:
		c.sum.kills++
		c.left--
	}
	return l
}

// kill kills the target, and reports whether there was no supervisor to kill with
// the controller.
func (c *trial) kill(l *deftRun) (unsupervised bool) {
	if c.who == controller {
		_ = l.cmd.Process.Kill() // fails only if it has ended
		if s := c.supervisor(); s != nil {
			c.spaces.add(s)
			s.close()
		}
		return false
	}
	s := c.supervisor()
	if s == nil {
		_ = l.cmd.Process.Kill()
		return true
	}
	c.spaces.add(s)
	if c.rng.IntN(2) == 0 {
		_ = l.cmd.Process.Kill()
	}
	must.Report(c.t, s.kill())
	_ = l.cmd.Process.Kill() // killing it twice is harmless
	<-l.ended
	must.Report(c.t, s.release())
	return false
}

// killSupervisors runs deft to its end and kills its supervisors meanwhile.
func (c *trial) killSupervisors(args []string) *deftRun {
	l := c.startDeft(args...)
	for c.left > 0 {
		killed := make(chan bool, 1)
		cancel := c.at(c.moment(), func() {
			s := c.supervisor()
			if s == nil {
				killed <- false
				return
			}
			c.spaces.add(s)
			must.Report(c.t, s.kill())
			must.Report(c.t, s.release())
			killed <- true
		})
		c.saw(started)
		select {
		case <-l.ended:
		case hit := <-killed:
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

// moment draws the next point: a time, or an event that is visible from outside.
func (c *trial) moment() moment {
	m := moment{sign: started, n: 1}
	soon := time.Duration(0) // half of the kills come without a delay
	if c.rng.IntN(2) == 0 {
		soon = time.Duration(c.rng.Int64N(int64(4 * time.Millisecond)))
	}
	switch c.rng.IntN(5) {
	case 0: // anywhere in an undisturbed run
		m.after = time.Duration(c.rng.Int64N(int64(undisturbed)))
	case 1: // while it starts
		m.after = time.Duration(c.rng.Int64N(int64(undisturbed / 8)))
	case 2:
		m = moment{asked, 1 + c.rng.IntN(6), soon}
	case 3:
		m = moment{effected, 1 + c.rng.IntN(8), soon}
	case 4:
		m = moment{shown, 1 + c.rng.IntN(24), soon}
	}
	return m
}

// leftovers ends processes that may outlive the task, and waits for the end of all others.
func (c *trial) leftovers() {
	for c.mayOutlive {
		left := c.processes(c.spaces)
		if len(left) == 0 {
			break
		}
		c.sum.survivors += len(left)
		c.end(left)
	}
	c.gone(c.spaces)
}
