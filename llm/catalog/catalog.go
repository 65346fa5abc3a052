// Package catalog describes models: context window, maximum output, prices,
// abilities and the quirks of their parameters. The data is embedded
// (models.json, with its source and date) and never fetched.
//
// # Usage
//
//	e, ok := catalog.Default().Lookup("anthropic/claude-sonnet-4-5-20250929")
//	c, err := catalog.Default().Override("/etc/deft/models.json")
//
// # Concurrency
//
// A Catalog is immutable and safe for concurrent use.
//
// # Failure
//
// An unknown model is not an error: Lookup returns false, and Near returns
// similar names. A malformed override file is an error of kind Invalid.
package catalog

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
	"github.com/deft-dev/deft/llm"
)

//go:embed models.json
var embedded []byte

// Entry describes a model. Zero numbers mean unknown.
type Entry struct {
	Name        string     `json:"name"`
	Aliases     []string   `json:"aliases,omitempty"`
	Provider    string     `json:"provider"`
	Context     int        `json:"context,omitempty"`    // tokens
	MaxOutput   int        `json:"max_output,omitempty"` // tokens
	Price       *Price     `json:"price,omitempty"`      // nil: unknown
	Vision      bool       `json:"vision,omitempty"`
	Reasoning   bool       `json:"reasoning,omitempty"`
	Tools       bool       `json:"tools,omitempty"`
	PromptCache bool       `json:"prompt_cache,omitempty"` // supports explicit marks
	MustEcho    []string   `json:"must_echo,omitempty"`    // "reasoning_content"
	Quirks      llm.Quirks `json:"quirks,omitzero"`
}

// Price is in US dollars for one million tokens.
type Price struct {
	Input      float64 `json:"input"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
	Output     float64 `json:"output"`
	Tiers      []Tier  `json:"tiers,omitempty"` // for long prompts
}

func (p *Price) llm() llm.Price {
	return llm.Price{Known: true, Input: p.Input, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite, Output: p.Output}
}

type file struct {
	Source string  `json:"source"`
	Date   string  `json:"date"`
	Unit   string  `json:"unit"`
	Models []Entry `json:"models"`
}

// Catalog is a set of entries.
type Catalog struct {
	Source, Date string
	byName       map[string]*Entry // names and aliases, folded
	names        []string          // sorted, without aliases
}

// Default returns the embedded catalogue.
func Default() *Catalog { return load() }

var load = sync.OnceValue(func() *Catalog {
	c, err := parse(embedded)
	if err != nil { // prevented by a test
		return &Catalog{byName: map[string]*Entry{}}
	}
	return c
})

func parse(data []byte) (*Catalog, error) {
	var f file
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, fault.New(fault.Invalid, "the model catalogue is not valid JSON, or has unknown fields").Because(err)
	}
	c := &Catalog{Source: f.Source, Date: f.Date, byName: make(map[string]*Entry, 2*len(f.Models))}
	for i := range f.Models {
		e := &f.Models[i]
		if err := e.check(); err != nil {
			return nil, err
		}
		c.add(e)
	}
	return c, nil
}

func (e *Entry) check() error {
	bad := e.Name == "" || e.Context < 0 || e.MaxOutput < 0
	if p := e.Price; p != nil {
		bad = bad || p.Input < 0 || p.Output < 0 || p.CacheRead < 0 || p.CacheWrite < 0
		for _, t := range p.Tiers {
			bad = bad || t.Above <= 0 || t.Input < 0 || t.Output < 0 || t.CacheRead < 0 || t.CacheWrite < 0
		}
	}
	if bad {
		return fault.New(fault.Invalid, fmt.Sprintf("model %q of the catalogue has no name or a negative number", e.Name))
	}
	return nil
}

func (c *Catalog) add(e *Entry) {
	for _, n := range append([]string{e.Name}, e.Aliases...) {
		c.byName[fold(n)] = e
	}
	if i, found := slices.BinarySearch(c.names, e.Name); !found {
		c.names = slices.Insert(c.names, i, e.Name)
	}
}

// Override returns a catalogue with the models of a JSON file in the form of
// models.json added. They replace models of the same name.
func (c *Catalog) Override(path string) (*Catalog, error) {
	data, err := textfile.Read(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.NotFound, "read the user's model catalogue")
	}
	extra, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	merged := &Catalog{Source: c.Source, Date: c.Date, byName: maps.Clone(c.byName), names: slices.Clone(c.names)}
	for _, n := range extra.names {
		merged.add(extra.byName[fold(n)])
	}
	return merged, nil
}

// Names returns the names of all models, sorted.
func (c *Catalog) Names() []string { return slices.Clone(c.names) }

// Lookup finds a model by its name; then by the name without provider prefixes;
// then without a date or another version suffix.
func (c *Catalog) Lookup(name string) (Entry, bool) {
	for n := fold(name); ; {
		if e := c.find(n); e != nil {
			return *e, true
		}
		_, rest, ok := strings.Cut(n, "/")
		if !ok {
			return Entry{}, false
		}
		n = rest
	}
}

func (c *Catalog) find(n string) *Entry {
	for {
		if e := c.byName[n]; e != nil {
			return e
		}
		shorter := dropSuffix(n)
		if shorter == n {
			return nil
		}
		n = shorter
	}
}

// fold normalizes a name for comparison: OpenRouter writes claude-sonnet-4.5
// for Anthropic's claude-sonnet-4-5.
func fold(name string) string {
	n := strings.ToLower(name)
	if strings.Contains(n, "claude") || strings.Contains(n, "grok") {
		n = strings.ReplaceAll(n, ".", "-")
	}
	return n
}
