package profiles

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/filestore"
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

var connectionsSchema = &schema.Object{
	Before: func(m *schema.Map) error { return filestore.CheckVersion(m, "Provider connections file", 1) },
	Fields: []schema.Field{
		{Name: "schema_version", Type: schema.Any{}, Default: schema.Count(1)},
		{Name: "connections", Type: schema.List{Of: spec.Reference("ProviderConnection", schema.Object{})}, Default: []any{}},
	},
}

// Connections are the provider connections, all in one file.
type Connections struct {
	file *filestore.Document
	now  func() time.Time
}

// List returns all connections. A key that none of ours opens is an error,
// because nothing may be written over it.
func (c *Connections) List(ctx context.Context) ([]Connection, error) {
	return c.list(ctx, schema.Reading{Keys: c.file.Keys, Strict: true})
}

// list returns all connections, with their keys as how says.
func (c *Connections) list(ctx context.Context, how schema.Reading) ([]Connection, error) {
	unlock, err := c.file.Acquire(ctx)
	if err != nil {
		return nil, connectionsError(err)
	}
	defer unlock()
	m, err := c.file.ReadAs(how)
	if err != nil {
		return nil, connectionsError(err)
	}
	return connectionsOf(m)
}

func connectionsOf(m *schema.Map) ([]Connection, error) {
	var file struct {
		Connections []Connection `json:"connections"`
	}
	err := schema.Into(m, &file)
	return file.Connections, err
}

// connectionsError tells clients why the file cannot be used, as the reference
// does.
func connectionsError(err error) error {
	switch {
	case errors.Is(err, schema.ErrSealed):
		return fault.New(fault.Invalid, "api_key is encrypted but cannot be decrypted with the current cipher. "+
			"Verify that OH_SECRET_KEY matches the key used when this connection was saved.")
	case errors.Is(err, filestore.ErrUnreadable):
		return fault.New(fault.Invalid, "Provider connections file is unreadable: "+err.Error())
	case fault.Is(err, fault.Unavailable):
		return fault.New(fault.Unavailable, "Profile store is busy. Please retry.")
	}
	return err
}

// Get returns a connection, NotFound where there is none.
func (c *Connections) Get(ctx context.Context, id string) (Connection, error) {
	list, err := c.List(ctx)
	if err != nil {
		return Connection{}, err
	}
	i, err := indexOf(list, id)
	if err != nil {
		return Connection{}, err
	}
	return list[i], nil
}

func indexOf(list []Connection, id string) (int, error) {
	i := slices.IndexFunc(list, func(o Connection) bool { return o.ID == id })
	if i < 0 {
		return i, fault.New(fault.NotFound, fmt.Sprintf("Provider connection '%s' not found", id))
	}
	return i, nil
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
	one.CreatedAt = int(c.now().Unix())
	one.UpdatedAt = one.CreatedAt
	err := c.change(ctx, func(list []Connection) ([]Connection, error) {
		if len(list) >= maxConnections {
			return nil, fault.New(fault.Conflict, fmt.Sprintf("Provider connection limit reached (%d). Delete one before adding another.", maxConnections))
		}
		return append(list, one), nil
	})
	return one, err
}

// Update changes a connection.
func (c *Connections) Update(ctx context.Context, id string, f func(*Connection) error) (changed Connection, err error) {
	err = c.change(ctx, func(list []Connection) ([]Connection, error) {
		i, err := indexOf(list, id)
		if err != nil {
			return nil, err
		}
		if err := f(&list[i]); err != nil {
			return nil, err
		}
		list[i].UpdatedAt = int(c.now().Unix())
		changed = list[i]
		return list, nil
	})
	return changed, err
}

// Delete removes a connection. The caller checks whether it is still used.
func (c *Connections) Delete(ctx context.Context, id string) error {
	return c.change(ctx, func(list []Connection) ([]Connection, error) {
		i, err := indexOf(list, id)
		if err != nil {
			return nil, err
		}
		return slices.Delete(list, i, i+1), nil
	})
}

func (c *Connections) change(ctx context.Context, f func([]Connection) ([]Connection, error)) error {
	return connectionsError(c.file.Change(ctx, func(m *schema.Map) error {
		list, err := connectionsOf(m)
		if err != nil {
			return err
		}
		if list, err = f(list); err != nil {
			return err
		}
		docs := make([]any, len(list))
		for i, one := range list {
			if docs[i], err = schema.From(one); err != nil {
				return err
			}
		}
		m.Set("connections", docs)
		return nil
	}))
}
