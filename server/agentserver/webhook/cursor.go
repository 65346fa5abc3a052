package webhook

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// Cursors stores which events each endpoint has. A conversation without a cursor
// is delivered from its first event.
type Cursors interface {
	// Known reports whether Begin was called for an endpoint, ever.
	Known(endpoint string) bool
	// Begin adds an endpoint with cursors for the present conversations. It is
	// durable when it returns.
	Begin(endpoint string, at map[event.ConversationID]eventstream.Seq) error
	// Get returns the last event that was delivered, 0 for none.
	Get(endpoint string, id event.ConversationID) eventstream.Seq
	// Set survives the end of the process. After a loss of power an older value
	// may return; events are then delivered again.
	Set(endpoint string, id event.ConversationID, seq eventstream.Seq) error
	// Forget removes the cursors of a conversation.
	Forget(id event.ConversationID) error
	// Close releases resources.
	Close() error
}

// File keeps cursors in a file and appends a line for each change. It rewrites the
// file when most of its lines are outdated.
type File struct {
	path string

	mu    sync.Mutex
	f     *os.File
	at    map[string]map[event.ConversationID]eventstream.Seq
	lines int
}

// OpenFile opens or creates the file. Incomplete lines, as a crash leaves them, are
// skipped. The directory must exist.
func OpenFile(path string) (*File, error) {
	c := &File{path: path, at: map[string]map[event.ConversationID]eventstream.Seq{}}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("open webhook cursors: %w", err)
	}
	if err := c.rewrite(); err != nil {
		return nil, fmt.Errorf("open webhook cursors: %w", err)
	}
	return c, nil
}

func (c *File) load() error {
	f, err := os.Open(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(make([]byte, 4096), 1<<20)
	for sc.Scan() {
		c.apply(sc.Text())
	}
	return sc.Err()
}

// apply reads one line: an endpoint's name alone, or with a conversation and its
// cursor, or a dash and a conversation to forget. The full stop at the end tells
// a complete number from a truncated one.
func (c *File) apply(line string) {
	line, whole := strings.CutSuffix(line, " .")
	parts := strings.Split(line, " ")
	switch {
	case !whole || len(parts[0]) == 0:
	case len(parts) == 1 && parts[0] != "-":
		if c.at[parts[0]] == nil {
			c.at[parts[0]] = map[event.ConversationID]eventstream.Seq{}
		}
	case len(parts) == 2 && parts[0] == "-":
		for _, m := range c.at {
			delete(m, event.ConversationID(parts[1]))
		}
	case len(parts) == 3 && c.at[parts[0]] != nil:
		var n int64
		if _, err := fmt.Sscanf(parts[2], "%d", &n); err == nil && n >= 0 {
			c.at[parts[0]][event.ConversationID(parts[1])] = eventstream.Seq(n)
		}
	}
}

// Known implements [Cursors].
func (c *File) Known(endpoint string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at[endpoint] != nil
}

// Begin implements [Cursors].
func (c *File) Begin(endpoint string, at map[event.ConversationID]eventstream.Seq) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at[endpoint] == nil {
		c.at[endpoint] = map[event.ConversationID]eventstream.Seq{}
	}
	maps.Copy(c.at[endpoint], at)
	return c.rewrite()
}

// Get implements [Cursors].
func (c *File) Get(endpoint string, id event.ConversationID) eventstream.Seq {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at[endpoint][id]
}

// Set implements [Cursors].
func (c *File) Set(endpoint string, id event.ConversationID, seq eventstream.Seq) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at[endpoint] == nil {
		return fault.New(fault.Internal, "webhook: unknown endpoint")
	}
	c.at[endpoint][id] = seq
	return c.add(fmt.Sprintf("%s %s %d .\n", endpoint, id, seq))
}

// Forget implements [Cursors].
func (c *File) Forget(id event.ConversationID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := false
	for _, m := range c.at {
		_, has := m[id]
		known = known || has
		delete(m, id)
	}
	if !known {
		return nil
	}
	return c.add(fmt.Sprintf("- %s .\n", id))
}

// Close implements [Cursors].
func (c *File) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.f.Close()
}

// maxOutdated is how many lines may be outdated.
const maxOutdated = 1000

func (c *File) add(line string) error {
	if _, err := c.f.WriteString(line); err != nil {
		return fmt.Errorf("write webhook cursors: %w", err)
	}
	if c.lines++; c.lines > 2*c.size()+maxOutdated {
		return c.rewrite()
	}
	return nil
}

func (c *File) size() (n int) {
	for _, m := range c.at {
		n += 1 + len(m)
	}
	return n
}

// rewrite replaces the file by one without outdated lines.
func (c *File) rewrite() error {
	tmp, err := os.CreateTemp(filepath.Dir(c.path), filepath.Base(c.path)+".*")
	if err != nil {
		return err
	}
	w := bufio.NewWriter(tmp)
	for endpoint, m := range c.at {
		fmt.Fprintf(w, "%s .\n", endpoint)
		for id, seq := range m {
			fmt.Fprintf(w, "%s %s %d .\n", endpoint, id, seq)
		}
	}
	err = errors.Join(w.Flush(), tmp.Sync())
	if err == nil {
		err = os.Rename(tmp.Name(), c.path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(c.path))
	}
	if err != nil {
		return errors.Join(err, tmp.Close(), os.Remove(tmp.Name()))
	}
	if c.f != nil {
		err = c.f.Close()
	}
	c.f, c.lines = tmp, c.size()
	return err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
