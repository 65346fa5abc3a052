// Package debuglog writes the traffic with a provider to files, for debugging
// failed calls. It is off by default.
//
// # Usage
//
//	log, err := debuglog.Open(dir, debuglog.Options{})
//	m, err := route.New(llm.Config{…, APIKey: key, HTTPClient: log.Client(0, key)})
//
// Each HTTP exchange becomes one JSON file of mode 0600, named by its time:
// request and response, with headers and bodies. Prompts and answers are
// written unchanged. Credentials are removed: the headers and query parameters
// that carry them, their values anywhere else, and parts of the values of 8
// characters or more. A model that repeats a key in a stream of shorter pieces
// evades this.
//
// # Concurrency
//
// A Log is safe for concurrent use. It starts no goroutines.
//
// # Failure
//
// A file that cannot be written does not fail the call; Options.OnError is
// called. Bodies are cut at a size, and the oldest files are removed, so that a
// forgotten log does not fill the disk.
package debuglog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// Variable is the environment variable that names the directory.
const Variable = "DEFT_LLM_LOG"

// Options bound a log.
type Options struct {
	MaxBody  int   // bytes of a body; default 1 MiB
	MaxFiles int   // default 1,000
	MaxBytes int64 // of all files; default 256 MiB
	// OnError is called when a file cannot be written; nil for none.
	OnError func(error)
	// Now replaces the clock, in tests.
	Now func() time.Time
}

// Log is a directory of exchanges.
type Log struct {
	dir  string
	opts Options

	mu    sync.Mutex
	files []file // oldest first
	bytes int64  // of all files
	n     int
}

type file struct {
	name string
	size int64
}

// logName matches the names of a log's files: no others are removed.
var logName = lazyregexp.New(`^[0-9]{8}T[0-9]{6}\.[0-9]{9}Z-[0-9]+-[0-9]{6,}\.json$`)

// Open opens a directory as a log and creates it if missing. Errors are of kind
// Denied.
func Open(dir string, o Options) (*Log, error) {
	o.MaxBody = cmp.Or(o.MaxBody, 1<<20)
	o.MaxFiles = cmp.Or(o.MaxFiles, 1_000)
	o.MaxBytes = cmp.Or(o.MaxBytes, 256<<20)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Wrap(err, fault.Denied, "create the directory of the LLM log")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fault.Wrap(err, fault.Denied, "read the directory of the LLM log")
	}
	l := &Log{dir: dir, opts: o}
	for _, e := range entries { // by name, which is by time
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !logName().MatchString(e.Name()) {
			continue // removed meanwhile, or another file
		}
		l.files = append(l.files, file{e.Name(), info.Size()})
		l.bytes += info.Size()
	}
	return l, nil
}

// Exchange is one file. Times are in seconds.
type Exchange struct {
	Time     time.Time `json:"time"`
	Seconds  float64   `json:"seconds"` // until the answer ended
	Request  Message   `json:"request"`
	Response *Message  `json:"response,omitempty"`
	Error    string    `json:"error,omitempty"` // of the connection
}

// Message is a request or a response.
type Message struct {
	Method  string              `json:"method,omitempty"`
	URL     string              `json:"url,omitempty"`
	Status  int                 `json:"status,omitempty"`
	Headers map[string][]string `json:"headers"`
	// Body is JSON if the body was JSON, else a string.
	Body json.RawMessage `json:"body,omitempty"`
	// Cut reports that the body was longer.
	Cut bool `json:"cut,omitempty"`
}

func (l *Log) write(x *Exchange) {
	data, err := json.MarshalIndent(x, "", "  ")
	if err == nil {
		err = l.store(x.Time, append(data, '\n'))
	}
	if err != nil {
		l.opts.OnError(fmt.Errorf("write the LLM log: %w", err))
	}
}

func (l *Log) store(at time.Time, data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	name := fmt.Sprintf("%s-%d-%06d.json", at.UTC().Format("20060102T150405.000000000Z"), os.Getpid(), l.n)
	if err := os.WriteFile(filepath.Join(l.dir, name), data, 0o600); err != nil {
		return err
	}
	l.files = append(l.files, file{name, int64(len(data))})
	l.bytes += int64(len(data))
	for len(l.files) > 1 && (len(l.files) > l.opts.MaxFiles || l.bytes > l.opts.MaxBytes) {
		if err := os.Remove(filepath.Join(l.dir, l.files[0].name)); err != nil && !os.IsNotExist(err) {
			return err
		}
		l.bytes -= l.files[0].size
		l.files = slices.Delete(l.files, 0, 1)
	}
	return nil
}

// credentialWords occur in the names of headers and query parameters with
// credentials.
var credentialWords = []string{"auth", "key", "token", "secret", "cookie", "credential", "signature", "password"}

func hasCredential(name string) bool {
	name = strings.ToLower(name)
	if strings.Contains(name, "ratelimit") { // x-ratelimit-remaining-tokens
		return false
	}
	return slices.ContainsFunc(credentialWords, func(word string) bool { return strings.Contains(name, word) })
}

const redacted = "[redacted]"

// redactedURL is a URL without credentials.
func redactedURL(u *url.URL) string {
	c := *u
	c.User, c.Fragment = nil, ""
	q := c.Query()
	for name := range q {
		if hasCredential(name) {
			q[name] = []string{redacted}
		}
	}
	c.RawQuery = q.Encode()
	return c.String()
}
