package event

import "time"

// Timestamp is the wire form of a time: local ISO 8601 without a zone, always
// with microseconds, so that comparing two as strings compares the times
// (docs/openhands/sdk-wire.md section 0.5). A decoded timestamp is kept as it was written.
type Timestamp string

const timestampLayout = "2006-01-02T15:04:05.000000"

// At returns t as a Timestamp in the local zone.
func At(t time.Time) Timestamp { return Timestamp(t.Local().Format(timestampLayout)) }

// Now returns the current time as a Timestamp.
func Now() Timestamp { return At(time.Now()) }

// Time parses the timestamp; ok is false when it is not one. Timestamps with
// a zone or without a fraction, as other writers make them, are understood.
func (t Timestamp) Time() (at time.Time, ok bool) {
	at, err := time.ParseInLocation("2006-01-02T15:04:05.999999999", string(t), time.Local)
	if err != nil {
		at, err = time.Parse(time.RFC3339Nano, string(t))
	}
	return at, err == nil
}
