package mcp

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// The limits that hold unless [Options] say otherwise.
const (
	DefaultConnectTimeout = 30 * time.Second  // to connect and list
	DefaultCallTimeout    = 300 * time.Second // of one call
)

// A server that could not be used is tried again up to mostRetries times, with pauses of
// firstRetry to lastRetry.
const (
	firstRetry  = 5 * time.Second
	lastRetry   = 2 * time.Minute
	mostRetries = 30
)

// Limits on one server's tools.
const (
	maxTools       = 512
	maxPages       = 64
	maxSchema      = 64 << 10 // bytes of one tool's schema
	maxSchemas     = 1 << 20  // of all of a server's
	maxDescription = 8 << 10
	maxMessage     = 16 << 20 // one JSON-RPC message
	maxText        = 256 << 10
	maxImages      = 16
	maxImageBytes  = 8 << 20 // of one image, in base64
	maxStderr      = 4 << 10
	maxLine        = 500     // of a line that is no message, as it is logged
	maxPrinted     = 4 << 10 // of such a line, with the part that is left out once secrets are masked
	maxLines       = 100     // lines of one process that are logged
)

// Local are MCP servers of this process by their names.
type Local map[string]http.Handler

// Options say how servers are used. The zero value is useful.
type Options struct {
	// ConnectTimeout bounds connecting and listing of each server, and how long [Connect]
	// waits; CallTimeout bounds one call; 0 for the defaults above. A server's own timeout
	// goes before both.
	ConnectTimeout, CallTimeout time.Duration
	// RetryAfter is the pause before a server that could not be used is tried again; each
	// further one is twice as long. 0 for 5 seconds.
	RetryAfter time.Duration
	// Variables looks up ${NAME} in a server's configuration, secrets first;
	// nil leaves it as it is.
	Variables Lookup
	// Secrets looks up $NAME and ${NAME} in a call's arguments; nil leaves
	// them. The events keep the reference, never the value.
	Secrets Lookup
	// Mask removes secrets from results and descriptions; nil for no masking.
	Mask func(string) string
	// Reserved are names that a server's tool must not have, beside the names of the
	// tools that are always there.
	Reserved []string
	// Filter is the agent's filter_tools_regex: only tools whose name it
	// matches at the start are offered; empty for all.
	Filter string
	// Logins has the owner's logins at remote servers, and keeps renewed ones; nil for those
	// of the configuration alone.
	Logins Logins
	// Pool shares sessions at remote servers between the sets of one Owner; nil for sessions of
	// one's own.
	Pool  *Pool
	Owner string
	// Track is told of the secrets of logins before they are used; nil for nobody.
	Track func(values ...string)
	// Local are servers of this process by their names, over streamable HTTP without a
	// connection. The names of their tools are never changed, and they hide a
	// configured server of the same name. They must answer without a stream.
	Local Local
	// Programs starts servers over stdio; nil for an error instead.
	Programs tool.Starter
	// Changed is called, in a goroutine of the set, when the definitions have
	// changed; nil for none.
	Changed func(*Set, Change)
	// Warn is called with problems after Connect; nil logs them.
	Warn func(Warning)
	Log  *slog.Logger // nil for none
}

// Change is how the tools of one server have changed. The names are as the model has them.
type Change struct {
	Server string
	// Arrived says that the server could not be used before.
	Arrived                 bool
	Added, Removed, Altered []string // sorted
}

// String says it to the model and the user. Names come from the server; they have only
// characters that providers accept.
func (c Change) String() string {
	text := fmt.Sprintf("The MCP server %q has changed its tools.", describe(c.Server, maxName))
	if c.Arrived {
		text = fmt.Sprintf("The MCP server %q can be used now.", describe(c.Server, maxName))
	}
	for _, part := range []struct {
		word  string
		names []string
	}{{" New tools: ", c.Added}, {" Gone: ", c.Removed}, {" Other descriptions or arguments: ", c.Altered}} {
		if len(part.names) > 0 {
			text += part.word + strings.Join(part.names, ", ") + "."
		}
	}
	return text
}

// Warning says why a server or one of its tools is not used.
type Warning struct {
	Server string
	Err    error
}

// Error implements error.
func (w Warning) Error() string { return "MCP server " + w.Server + ": " + w.Err.Error() }

// Unwrap returns the cause.
func (w Warning) Unwrap() error { return w.Err }

func (o *Options) fill() error {
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = DefaultConnectTimeout
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = DefaultCallTimeout
	}
	if o.RetryAfter <= 0 {
		o.RetryAfter = firstRetry
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Mask == nil {
		o.Mask = func(s string) string { return s }
	}
	if o.Track == nil {
		o.Track = func(...string) {}
	}
	if o.Warn == nil {
		log := o.Log
		o.Warn = func(w Warning) { log.Warn("MCP server", "server", w.Server, "err", w.Err) }
	}
	if _, err := regexp.Compile(o.Filter); err != nil {
		return fault.Wrap(err, fault.Invalid, "filter_tools_regex")
	}
	return nil
}

// filter returns whether a tool of this name is wanted, as re.match of the
// reference: from the start of the name.
func (o *Options) filter() func(string) bool {
	if o.Filter == "" {
		return func(string) bool { return true }
	}
	re := regexp.MustCompile(`^(?:` + o.Filter + `)`)
	return re.MatchString
}
