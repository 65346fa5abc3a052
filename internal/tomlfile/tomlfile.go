// Package tomlfile reads TOML files of settings and says in which line each key is.
//
// # Usage
//
//	f, err := tomlfile.Read("/etc/deft/deft.toml")
//	for _, e := range f.Entries {
//		fmt.Println(e.Key(), e.Value, e.Line)
//	}
//
// # Concurrency and failure
//
// A File does not change. A file that cannot be read, is too long or is not TOML is an
// error of kind fault.Invalid with the file's name and the line; it never has a value
// of the file, which may be a secret. A file that does not exist is an error that
// wraps [fs.ErrNotExist].
package tomlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
)

// maxSize bounds a file, in bytes.
const maxSize = 1 << 20

// File is the content of a file.
type File struct {
	Name string
	// Entries are the values in the order of the file. The keys of inline tables are
	// entries of their own; a list is one.
	Entries []Entry
	// Tables are the headers, such as [llm].
	Tables []Table
	// Open reports whether other users of the machine can read the file.
	Open bool
}

// Entry is a key with its value: string, int64, float64, bool, []any, a time, or an
// empty map[string]any.
type Entry struct {
	Path  []string
	Value any
	Line  int // from 1
}

// Table is the header of a table.
type Table struct {
	Path []string
	Line int
}

// Key returns the dotted name.
func (e Entry) Key() string { return strings.Join(e.Path, ".") }

// Read reads a file.
func Read(name string) (*File, error) {
	in, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "read the configuration")
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "read the configuration")
	}
	if !info.Mode().IsRegular() {
		return nil, fault.New(fault.Invalid, name+" is not a file")
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxSize+1))
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "read the configuration")
	}
	f, err := Parse(name, raw)
	if err != nil {
		return nil, err
	}
	f.Open = info.Mode().Perm()&0o004 != 0
	return f, nil
}

// Parse reads the content of a file.
func Parse(name string, raw []byte) (*File, error) {
	if len(raw) > maxSize {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("%s is longer than %d bytes", name, maxSize))
	}
	raw = textfile.Decode(raw)
	var root map[string]any
	if err := toml.Unmarshal(raw, &root); err != nil {
		line := 1
		if bad, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ = bad.Position()
		}
		return nil, fault.New(fault.Invalid, name+":"+strconv.Itoa(line)+" is not valid TOML").
			Hint("texts need quotes, and no key may be given twice")
	}
	f := &File{Name: name}
	if err := f.locate(raw, root); err != nil {
		return nil, err
	}
	return f, nil
}

// locate adds the entries with their lines.
func (f *File) locate(raw []byte, root map[string]any) error {
	var (
		p      unstable.Parser
		header []string
		seen   = map[string]int{} // of lists of tables
		line   = counter{raw: raw, line: 1}
	)
	p.Reset(raw)
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			keys, at := path(e)
			header = indexed(keys, seen, e.Kind == unstable.ArrayTable)
			f.Tables = append(f.Tables, Table{Path: keys, Line: line.at(at)})
		case unstable.KeyValue:
			keys, at := path(e)
			full := append(slices.Clone(header), keys...)
			value, ok := find(root, full)
			if !ok {
				return fmt.Errorf("%s: the parsers of TOML disagree on line %d", f.Name, line.at(at))
			}
			f.add(full, value, line.at(at))
		}
	}
	return p.Error()
}

// add adds a value; the values of an inline table one by one.
func (f *File) add(path []string, value any, line int) {
	table, ok := value.(map[string]any)
	if !ok || len(table) == 0 {
		f.Entries = append(f.Entries, Entry{Path: path, Value: value, Line: line})
		return
	}
	keys := make([]string, 0, len(table))
	for key := range table {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		f.add(append(slices.Clone(path), key), table[key], line)
	}
}

// path returns the key of an expression and its offset in the file.
func path(e *unstable.Node) (keys []string, offset uint32) {
	it := e.Key()
	for first := true; it.Next(); first = false {
		if first {
			offset = it.Node().Raw.Offset
		}
		keys = append(keys, string(it.Node().Data))
	}
	return keys, offset
}

// indexed adds the numbers of items where a header is inside of lists of tables.
func indexed(keys []string, seen map[string]int, item bool) []string {
	var out []string
	for i, key := range keys {
		out = append(out, key)
		list := strings.Join(out, "\x00")
		n, ok := seen[list]
		if item && i == len(keys)-1 {
			if n, ok = seen[list]+1, true; seen[list] == 0 {
				n = 1
			}
			seen[list] = n
		}
		if ok {
			out = append(out, strconv.Itoa(n-1))
		}
	}
	return out
}

// find returns the value of a path.
func find(value any, path []string) (any, bool) {
	for _, key := range path {
		switch v := value.(type) {
		case map[string]any:
			inner, ok := v[key]
			if !ok {
				return nil, false
			}
			value = inner
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// counter counts lines up to growing offsets.
type counter struct {
	raw  []byte
	from int
	line int
}

func (c *counter) at(offset uint32) int {
	if to := int(offset); to > c.from && to <= len(c.raw) {
		c.line += bytes.Count(c.raw[c.from:to], []byte("\n"))
		c.from = to
	}
	return c.line
}
