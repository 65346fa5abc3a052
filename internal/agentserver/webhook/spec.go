package webhook

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
)

// Spec is one endpoint, in the configuration's form (docs/openhands/sdk-wire.md
// section 11).
type Spec struct {
	BaseURL string            `json:"base_url"`
	Headers map[string]string `json:"headers"`
	// EventBufferSize is how many events make a batch (5).
	EventBufferSize int `json:"event_buffer_size"`
	// FlushDelay is how many seconds an event waits for others (30).
	FlushDelay float64 `json:"flush_delay"`
	NumRetries int     `json:"num_retries"` // 3
	// RetryDelay is the pause before a retry in seconds (5).
	RetryDelay float64 `json:"retry_delay"`
	// MaxBatchBytes bounds a request; a larger event goes alone (5 MiB).
	MaxBatchBytes int `json:"max_batch_bytes"`
	// MaxQueueSize is accepted and not needed: events wait in the stream.
	MaxQueueSize int `json:"max_queue_size"`
	// MaxQueueBytes bounds what Tell and Show are given and was not delivered
	// (50 MiB).
	MaxQueueBytes int `json:"max_queue_bytes"`
}

// Defaults returns a Spec with the values that fields have when absent.
func Defaults() Spec {
	return Spec{
		EventBufferSize: 5, FlushDelay: 30, NumRetries: 3, RetryDelay: 5,
		MaxBatchBytes: 5 << 20, MaxQueueSize: 1000, MaxQueueBytes: 50 << 20,
	}
}

// UnmarshalJSON reads a Spec; absent fields take their defaults.
func (s *Spec) UnmarshalJSON(b []byte) error {
	type fields Spec
	v := fields(Defaults())
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*s = Spec(v)
	return nil
}

// check returns what is wrong with a Spec, with the kind Invalid.
func (s *Spec) check() error {
	u, err := url.Parse(s.BaseURL)
	wrong := ""
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		wrong = fmt.Sprintf("base_url %q is not an http URL", s.BaseURL)
	case s.EventBufferSize < 1:
		wrong = "event_buffer_size must be at least 1"
	case s.FlushDelay <= 0:
		wrong = "flush_delay must be more than 0"
	case s.NumRetries < 0 || s.RetryDelay < 0:
		wrong = "num_retries and retry_delay must not be negative"
	case s.MaxBatchBytes < 1 || s.MaxQueueSize < 1 || s.MaxQueueBytes < 1:
		wrong = "max_batch_bytes, max_queue_size and max_queue_bytes must be at least 1"
	}
	if wrong != "" {
		return fault.New(fault.Invalid, "webhook: "+wrong)
	}
	return nil
}

func (s *Spec) url(path string) string { return strings.TrimRight(s.BaseURL, "/") + path }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// maxPause bounds the pauses between attempts.
const maxPause = 5 * time.Minute

// pause returns how long to wait after a number of failed attempts.
func (s *Spec) pause(failures int) time.Duration {
	d := seconds(s.RetryDelay)
	if failures <= s.NumRetries {
		return d
	}
	d = max(d, seconds(s.FlushDelay))
	for range min(failures-s.NumRetries-1, 20) {
		d = min(2*d, maxPause)
	}
	return d
}
