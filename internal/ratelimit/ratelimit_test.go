package ratelimit_test

import (
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/deft-dev/deft/internal/ratelimit"
)

func TestTake(t *testing.T) {
	t.Parallel()
	l := ratelimit.New(3, time.Second)
	now := time.Unix(1_000_000, 0)
	for range 3 {
		if wait := l.Take("a", now); wait != 0 {
			t.Fatalf("one of the burst waits %v", wait)
		}
	}
	if wait := l.Take("a", now); wait != time.Second {
		t.Errorf("the fourth waits %v", wait)
	}
	if wait := l.Take("b", now); wait != 0 {
		t.Errorf("another key waits %v", wait)
	}
	now = now.Add(1500 * time.Millisecond)
	if wait := l.Take("a", now); wait != 0 {
		t.Errorf("after the interval: %v", wait)
	}
	if wait := l.Take("a", now); wait != 500*time.Millisecond {
		t.Errorf("the next: %v", wait)
	}
	if wait := ratelimit.New(0, 0).Take("a", now); wait != 0 {
		t.Errorf("without a limit: %v", wait)
	}
}

// TestManyKeys: the memory is bounded, and whoever has used most is remembered.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	l := ratelimit.New(2, time.Hour)
	now := time.Unix(1_000_000, 0)
	l.Take("often", now)
	l.Take("often", now)
	for i := range ratelimit.MaxKeys + 100 {
		l.Take(strconv.Itoa(i), now)
	}
	if l.Take("often", now) == 0 {
		t.Error("it was forgotten")
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := ratelimit.Network(netip.MustParseAddr(in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
