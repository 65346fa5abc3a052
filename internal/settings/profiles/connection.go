package profiles

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/settings/filestore"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// maxConnections is how many provider connections there may be.
const maxConnections = 64

// Connection is a key and an address that several LLM profiles share. Times
// are in seconds since 1970.
type Connection struct {
	ID          string     `json:"id"`
	DisplayName string     `json:"display_name"`
	Provider    string     `json:"provider"`
	APIKey      llm.Secret `json:"api_key"`
	BaseURL     *string    `json:"base_url"`
	CreatedAt   int        `json:"created_at"`
	UpdatedAt   int        `json:"updated_at"`
}

var connectionSchema = spec.Reference("ProviderConnection", schema.Object{})

var connectionsFile = &schema.Object{Fields: []schema.Field{
	{Name: "schema_version", Type: schema.Int{}, Default: schema.Count(1)},
	{Name: "connections", Type: schema.List{Of: connectionSchema}, Default: []any{}},
}}

// Connections are the provider connections, all in one file.
type Connections struct {
	dir  string
	keys schema.Keys
	now  func() time.Time
}

func (c *Connections) path() string { return filepath.Join(c.dir, "provider_connections.json") }

func (c *Connections) acquire(ctx context.Context) (func(), error) {
	unlock, err := filestore.Lock(ctx, filepath.Join(c.dir, ".provider-connections.lock"))
	if fault.Is(err, fault.Unavailable) {
		err = fault.New(fault.Unavailable, "Profile store is busy. Please retry.")
	}
	return unlock, err
}

// List returns all connections. Keys are opened if open is true; one that no
// key opens is then an error, because nothing may be written over it.
func (c *Connections) List(ctx context.Context, open bool) ([]Connection, error) {
	unlock, err := c.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return c.read(open)
}

func (c *Connections) read(open bool) ([]Connection, error) {
	raw, err := filestore.Read(c.path())
	if err != nil || raw == nil {
		return nil, err
	}
	v, err := schema.Parse(raw)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "Provider connections file is unreadable")
	}
	how := schema.Reading{}
	if open {
		how = schema.Reading{Keys: c.keys, Strict: true}
	}
	m, err := connectionsFile.Check(v, how)
	switch {
	case errors.Is(err, schema.ErrSealed):
		return nil, fault.New(fault.Invalid, "api_key is encrypted but cannot be decrypted with the current cipher. "+
			"Verify that OH_SECRET_KEY matches the key used when this connection was saved.")
	case err != nil:
		return nil, fault.New(fault.Invalid, "Provider connections file is unreadable: "+err.Error())
	case m.Get("schema_version") != schema.Count(1) && m.Get("schema_version") != schema.Count(0):
		return nil, fault.New(fault.Invalid, fmt.Sprintf("schema_version %v is newer than supported 1", m.Get("schema_version")))
	}
	var file struct {
		Connections []Connection `json:"connections"`
	}
	err = schema.Into(m, &file)
	return file.Connections, err
}

func (c *Connections) write(list []Connection) error {
	docs := make([]any, len(list))
	for i, one := range list {
		m, err := schema.From(one)
		if err != nil {
			return err
		}
		if m, err = connectionSchema.Dump(m, schema.Storing(c.keys)); err != nil {
			return err
		}
		docs[i] = m
	}
	return filestore.WriteDocument(c.path(), schema.Of("schema_version", schema.Count(1), "connections", docs))
}

// Get returns a connection, NotFound where there is none.
func (c *Connections) Get(ctx context.Context, id string) (Connection, error) {
	list, err := c.List(ctx, true)
	if err != nil {
		return Connection{}, err
	}
	if i := slices.IndexFunc(list, func(o Connection) bool { return o.ID == id }); i >= 0 {
		return list[i], nil
	}
	return Connection{}, missingConnection(id)
}

func missingConnection(id string) error {
	return fault.New(fault.NotFound, fmt.Sprintf("Provider connection '%s' not found", id))
}

// Find returns how LLMs look up their connections.
func (c *Connections) Find(ctx context.Context) spec.Connections {
	return func(id string) (spec.Connection, bool, error) {
		one, err := c.Get(ctx, id)
		if fault.Is(err, fault.NotFound) {
			return spec.Connection{}, false, nil
		}
		return spec.Connection{APIKey: one.APIKey, BaseURL: one.BaseURL}, err == nil, err
	}
}

// Create adds a connection; its times are set.
func (c *Connections) Create(ctx context.Context, one Connection) (Connection, error) {
	now := int(c.now().Unix())
	one.CreatedAt, one.UpdatedAt = now, now
	err := c.change(ctx, func(list []Connection) ([]Connection, error) {
		if len(list) >= maxConnections {
			return nil, fault.New(fault.Conflict, fmt.Sprintf("Provider connection limit reached (%d). Delete one before adding another.", maxConnections))
		}
		return append(list, one), nil
	})
	return one, err
}

// Update changes a connection.
func (c *Connections) Update(ctx context.Context, id string, f func(*Connection)) (changed Connection, err error) {
	err = c.change(ctx, func(list []Connection) ([]Connection, error) {
		i := slices.IndexFunc(list, func(o Connection) bool { return o.ID == id })
		if i < 0 {
			return nil, missingConnection(id)
		}
		f(&list[i])
		list[i].UpdatedAt = int(c.now().Unix())
		changed = list[i]
		return list, nil
	})
	return changed, err
}

// Delete removes a connection. The caller checks whether it is still used.
func (c *Connections) Delete(ctx context.Context, id string) error {
	return c.change(ctx, func(list []Connection) ([]Connection, error) {
		rest := slices.DeleteFunc(slices.Clone(list), func(o Connection) bool { return o.ID == id })
		if len(rest) == len(list) {
			return nil, missingConnection(id)
		}
		return rest, nil
	})
}

func (c *Connections) change(ctx context.Context, f func([]Connection) ([]Connection, error)) error {
	unlock, err := c.acquire(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	list, err := c.read(true)
	if err != nil {
		return err
	}
	if list, err = f(list); err != nil {
		return err
	}
	return c.write(list)
}
