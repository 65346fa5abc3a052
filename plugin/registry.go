package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/plugin/gitsource"
)

// Registration is a marketplace that a user has registered under a name.
type Registration struct {
	Name string
	From Source
	// Each says which of its plugins and skills each conversation gets.
	Each Choice
}

// Choice is some of the things that have names, or all. Its JSON is a bool or a list of names.
type Choice struct {
	All   bool
	Names []string
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Choice) UnmarshalJSON(raw []byte) error {
	*c = Choice{}
	if json.Unmarshal(raw, &c.All) == nil {
		return nil
	}
	return json.Unmarshal(raw, &c.Names)
}

func (c Choice) has(name string) bool { return c.All || slices.Contains(c.Names, name) }

// ReadRegistrations reads marketplaces in the form of an agent's context
// (reference: marketplace/registration.py). Invalid for one that does not fit, and for two of one name.
func ReadRegistrations(all []json.RawMessage) ([]Registration, error) {
	out := make([]Registration, len(all))
	for i, raw := range all {
		var r struct {
			Name string `json:"name"`
			Source
			AutoLoad Choice `json:"auto_load"`
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, fault.Wrap(err, fault.Invalid, fmt.Sprintf("marketplace %d", i+1))
		}
		if err := gitsource.CheckPath(optional.Value(r.RepoPath)); err != nil {
			return nil, fault.New(fault.Invalid, "marketplace "+r.Name+": "+err.Error())
		}
		if slices.ContainsFunc(out[:i], func(o Registration) bool { return o.Name == r.Name }) {
			return nil, fault.New(fault.Invalid, "Duplicate marketplace registration: "+r.Name)
		}
		out[i] = Registration{r.Name, r.Source, r.AutoLoad}
	}
	return out, nil
}

// Resolve returns the source of a plugin that is named as NAME@MARKETPLACE, or as NAME, which
// one of the marketplaces has (reference: marketplace/registry.py). NotFound for an unknown name, Conflict
// for a plugin that several have, Invalid for one that cannot be installed, and the errors of [Loader.Preview].
func (l Loader) Resolve(ctx context.Context, all []Registration, name string) (Source, error) {
	plugin, market, exact := cutLast(name)
	var found []Entry
	var in, failed []string
	for _, r := range all {
		if exact && r.Name != market {
			continue
		}
		m, err := l.Preview(ctx, r.From)
		if err != nil {
			if exact {
				return Source{}, err
			}
			failed = append(failed, r.Name+": "+fault.Text(err))
			continue
		}
		if i := slices.IndexFunc(m.Plugins, func(e Entry) bool { return e.Name == plugin }); i >= 0 {
			found, in = append(found, m.Plugins[i]), append(in, r.Name)
		}
	}
	switch {
	case exact && !slices.ContainsFunc(all, func(r Registration) bool { return r.Name == market }):
		return Source{}, fault.New(fault.NotFound, "there is no marketplace "+market)
	case len(found) > 1:
		return Source{}, fault.New(fault.Conflict, fmt.Sprintf("several marketplaces have a plugin %s: %s", plugin, strings.Join(in, ", "))).
			Hint("name one: " + plugin + "@" + in[0])
	case len(found) == 0 && len(failed) > 0:
		return Source{}, fault.New(fault.NotFound, "no marketplace that can be read has a plugin "+plugin+"; "+strings.Join(failed, "; "))
	case len(found) == 0:
		return Source{}, fault.New(fault.NotFound, "no marketplace has a plugin "+plugin)
	case found[0].Why != "":
		return Source{}, fault.New(fault.Invalid, "the plugin "+plugin+" cannot be installed: "+found[0].Why)
	}
	return found[0].From, nil
}

// Named reports whether a text is the name of a plugin, of a marketplace that may follow it, and
// not a source.
func Named(text string) bool { return namedPattern().MatchString(text) }

var namedPattern = lazyregexp.New(`^[A-Za-z0-9_-]+(@[A-Za-z0-9._-]+)?$`)

// cutLast splits NAME@MARKETPLACE.
func cutLast(name string) (plugin, market string, exact bool) {
	i := strings.LastIndexByte(name, '@')
	if i <= 0 || i == len(name)-1 {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}
