package exchange

import (
	"net/http"
	"testing"
	"time"
)

func TestPauseOf(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	for name, c := range map[string]struct {
		status int
		header http.Header
		want   time.Duration // -1 for none
	}{
		"nothing":               {200, http.Header{}, -1},
		"requests left":         {200, http.Header{"X-Ratelimit-Remaining": {"7"}, "X-Ratelimit-Reset": {"1800000600"}}, -1},
		"seconds":               {503, http.Header{"Retry-After": {"30"}}, 30 * time.Second},
		"a date":                {429, http.Header{"Retry-After": {now.Add(time.Minute).UTC().Format(http.TimeFormat)}}, time.Minute},
		"GitHub":                {403, http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"1800000600"}}, 10 * time.Minute},
		"GitLab":                {429, http.Header{"Ratelimit-Remaining": {"0"}, "Ratelimit-Reset": {"1800000020"}}, 20 * time.Second},
		"the last one":          {200, http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"1800000600"}}, 10 * time.Minute},
		"without a time":        {429, http.Header{}, time.Minute},
		"for ever":              {429, http.Header{"Retry-After": {"99999999999"}}, longest},
		"for ever, by a date":   {429, http.Header{"Retry-After": {"Fri, 31 Dec 9999 23:59:59 GMT"}}, longest},
		"what cannot be read":   {403, http.Header{"Retry-After": {"soon"}, "X-Ratelimit-Remaining": {"x"}}, -1},
		"less than no requests": {403, http.Header{"X-Ratelimit-Remaining": {"-1"}, "X-Ratelimit-Reset": {"1800000001"}}, time.Second},
	} {
		p := pauseOf(answer{status: c.status, header: c.header}, now)
		if p.asked != (c.want >= 0) || p.asked && !p.until.Equal(now.Add(c.want)) {
			t.Errorf("%s: %v until %v, want %v", name, p.asked, p.until.Sub(now), c.want)
		}
	}
}

// TestLimitsAreBounded: many accounts do not fill the memory.
func TestLimitsAreBounded(t *testing.T) {
	t.Parallel()
	var l Limits
	for i := range 3 * maxKept {
		l.note(string(rune(i)), answer{status: http.StatusTooManyRequests, header: http.Header{}})
	}
	if n := len(l.ended); n > maxKept {
		t.Errorf("%d accounts are kept", n)
	}
}
