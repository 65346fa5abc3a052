package runtimeapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/sandbox/pool"
	"github.com/deft-dev/deft/server/runtimeapi/registry"
)

// metrics answers with the pool's counters, in Prometheus' text format.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	if _, ok := s.key(w, r); !ok {
		return
	}
	var b strings.Builder
	all := s.o.Registry.PoolMetrics()
	slices.SortFunc(all, func(a, b pool.Metrics) int { return strings.Compare(string(a.Class), string(b.Class)) })
	for _, m := range []struct {
		name, kind, help string
		value            func(pool.Metrics) float64
	}{
		{"deft_pool_wanted", "gauge", "Sandboxes that are to wait.", func(m pool.Metrics) float64 { return float64(m.Wanted) }},
		{"deft_pool_ready", "gauge", "Sandboxes that wait.", func(m pool.Metrics) float64 { return float64(m.Ready) }},
		{"deft_pool_starting", "gauge", "Sandboxes that are started.", func(m pool.Metrics) float64 { return float64(m.Making) }},
		{"deft_pool_oldest_seconds", "gauge", "Age of the oldest sandbox that waits.", func(m pool.Metrics) float64 { return m.Oldest.Seconds() }},
		{"deft_pool_hits_total", "counter", "Claims that found a sandbox.", func(m pool.Metrics) float64 { return float64(m.Hits) }},
		{"deft_pool_misses_total", "counter", "Claims that found none.", func(m pool.Metrics) float64 { return float64(m.Misses) }},
		{"deft_pool_made_total", "counter", "Sandboxes that were started for the pool.", func(m pool.Metrics) float64 { return float64(m.Made) }},
		{"deft_pool_failed_total", "counter", "Sandboxes that could not be started, or did not answer.", func(m pool.Metrics) float64 { return float64(m.Failed) }},
		{"deft_pool_expired_total", "counter", "Sandboxes that were replaced because they were old.", func(m pool.Metrics) float64 { return float64(m.Expired) }},
	} {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
		for _, x := range all {
			fmt.Fprintf(&b, "%s{class=%s} %g\n", m.name, strconv.Quote(string(x.Class)), m.value(x))
		}
	}
	b.WriteString("# HELP deft_start_seconds Time from a request to start a runtime until its server serves.\n# TYPE deft_start_seconds histogram\n")
	warm, cold := s.o.Registry.Latencies()
	histogram(&b, "warm", warm)
	histogram(&b, "cold", cold)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if _, err := w.Write([]byte(b.String())); err != nil {
		s.o.Log.Debug("the client has disconnected", "err", err)
	}
}

func histogram(b *strings.Builder, pool string, h registry.Histogram) {
	var sum uint64
	for i, bound := range registry.Buckets {
		if h.Counts != nil {
			sum += h.Counts[i]
		}
		fmt.Fprintf(b, "deft_start_seconds_bucket{pool=%q,le=\"%g\"} %d\n", pool, bound.Seconds(), sum)
	}
	fmt.Fprintf(b, "deft_start_seconds_bucket{pool=%q,le=\"+Inf\"} %d\ndeft_start_seconds_sum{pool=%q} %g\ndeft_start_seconds_count{pool=%q} %d\n",
		pool, h.Count, pool, h.Sum.Seconds(), pool, h.Count)
}
