package actionserver

import (
	"os/exec"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/must"
)

func over(p *presence) bool {
	synctest.Wait()
	select {
	case <-p.expired:
		return true
	default:
		return false
	}
}

func TestPresence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPresence(time.Minute)
		time.Sleep(59 * time.Second)
		one := p.enter()
		two := p.enter()
		time.Sleep(time.Hour)
		one()
		time.Sleep(time.Hour)
		if over(p) {
			t.Fatal("expired with a controller there")
		}
		two()
		time.Sleep(59 * time.Second)
		if over(p) {
			t.Fatal("expired before the grace time")
		}
		time.Sleep(2 * time.Second)
		if !over(p) {
			t.Fatal("did not expire")
		}
		p.enter()() // too late, and harmless
		p.end()
	})
}

// TestLinger: the time that was asked for counts, whoever connects in it, until there is new work.
func TestLinger(t *testing.T) {
	t.Parallel()
	for asked, wait := range map[time.Duration]time.Duration{4 * time.Second: 4 * time.Second, time.Hour: time.Hour, 0: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			p := newPresence(time.Minute)
			leave := p.enter()
			p.linger(asked)
			leave()
			time.Sleep(wait - time.Second)
			p.enter()() // as deft forward does
			time.Sleep(wait - time.Second)
			if over(p) {
				t.Fatal("expired before the time")
			}
			time.Sleep(2 * time.Second)
			if !over(p) {
				t.Fatal("did not expire")
			}
			p.end()
		})
	}
}

func TestPresenceWithoutAnyController(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPresence(time.Minute)
		time.Sleep(61 * time.Second)
		if !over(p) {
			t.Fatal("did not expire")
		}
		p.end()
	})
}

// TestReapNeedsTwoChecks has a zombie that no goroutine waits for.
func TestReapNeedsTwoChecks(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("true")
	must.Succeed(t, err)
	pid, err := syscall.ForkExec(path, []string{"true"}, nil)
	must.Succeed(t, err)
	must.Succeed(t, unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
	find := func() map[child]bool {
		all, err := children()
		must.Succeed(t, err)
		mine := map[child]bool{}
		for c, zombie := range all {
			if c.pid == pid {
				mine[c] = zombie
			}
		}
		return mine
	}
	o := &orphans{}
	o.reapKnown(nil)
	mine := find()
	if len(mine) != 1 {
		t.Fatal("a zombie was reaped at first sight")
	}
	o.reapKnown(mine)
	if len(find()) != 0 {
		t.Error("the zombie is still there")
	}
}
