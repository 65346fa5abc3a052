package mcp

import (
	"strings"
	"sync"
)

// printed has the lines that a server over stdio has printed beside its messages, or events of a
// remote one. They are logged, within limits, and its end explains why the server has ended.
type printed struct {
	server *server

	mu   sync.Mutex
	n    int
	last string // the last lines, at most maxStderr bytes
}

// add takes a line.
func (p *printed) add(line []byte) {
	text := p.server.shown(string(line), maxLine)
	p.mu.Lock()
	p.n++
	n := p.n
	p.last += text + "\n"
	p.last = strings.ToValidUTF8(p.last[max(0, len(p.last)-maxStderr):], "")
	p.mu.Unlock()
	o := &p.server.set.opts
	switch {
	case n <= maxLines:
		o.Log.Info("an MCP server has sent a line that is no message; a program has standard error for it",
			"server", p.server.name, "line", text)
	case n == maxLines+1:
		o.Log.Info("further lines of this MCP server are not logged", "server", p.server.name)
	}
}

// end returns the last lines.
func (p *printed) end() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.TrimSpace(p.last)
}
