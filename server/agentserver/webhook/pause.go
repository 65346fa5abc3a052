package webhook

import (
	"time"

	"github.com/deft-dev/deft/server/agentserver/config"
)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// maxPause bounds the pauses between attempts.
const maxPause = 5 * time.Minute

// pause returns how long to wait after a number of failed attempts.
func pause(w *config.Webhook, failures int) time.Duration {
	d := seconds(w.RetryDelay)
	if failures <= w.NumRetries {
		return d
	}
	d = max(d, seconds(w.FlushDelay))
	for range min(failures-w.NumRetries-1, 20) {
		d = min(2*d, maxPause)
	}
	return d
}
