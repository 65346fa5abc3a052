package settings

import (
	"context"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
)

// marketplaces is the preference with the marketplaces of plugins, where OpenHands' pages keep
// them.
const marketplaces = "registered_marketplaces"

// Marketplaces returns the marketplaces that the user has registered.
func (s *Service) Marketplaces() ([]*schema.Map, error) {
	doc, err := s.Load()
	if err != nil {
		return nil, err
	}
	return doc.marketplaces(), nil
}

func (d *Document) marketplaces() (all []*schema.Map) {
	list, _ := d.PreferenceMap().Get(marketplaces).([]any)
	for _, one := range list {
		if m, ok := one.(*schema.Map); ok {
			all = append(all, m)
		}
	}
	return all
}

// AddMarketplace registers a marketplace. Conflict for a name that is there, Invalid for one
// that does not fit.
func (s *Service) AddMarketplace(ctx context.Context, m *schema.Map) error {
	return s.changeMarketplaces(ctx, func(all []*schema.Map) ([]*schema.Map, error) {
		if slices.ContainsFunc(all, func(o *schema.Map) bool { return o.Text("name") == m.Text("name") }) {
			return nil, fault.New(fault.Conflict, "there is a marketplace "+m.Text("name")+" already")
		}
		return append(all, m), nil
	})
}

// RemoveMarketplace forgets a marketplace. NotFound if there is none of the name.
func (s *Service) RemoveMarketplace(ctx context.Context, name string) error {
	return s.changeMarketplaces(ctx, func(all []*schema.Map) ([]*schema.Map, error) {
		left := slices.DeleteFunc(slices.Clone(all), func(o *schema.Map) bool { return o.Text("name") == name })
		if len(left) == len(all) {
			return nil, fault.New(fault.NotFound, "there is no marketplace "+name)
		}
		return left, nil
	})
}

func (s *Service) changeMarketplaces(ctx context.Context, change func([]*schema.Map) ([]*schema.Map, error)) error {
	_, err := s.Change(ctx, func(doc *Document) error {
		all, err := change(doc.marketplaces())
		if err != nil {
			return err
		}
		list := make([]any, len(all))
		for i, m := range all {
			list[i] = m
		}
		checked, err := schema.Check(PreferenceFields, schema.Of(marketplaces, list), schema.Reading{})
		if err != nil {
			return err
		}
		m, _ := checked.(*schema.Map)
		return s.apply(doc, Diff{Misc: SetPreferences(schema.Of(marketplaces, m.Get(marketplaces)))})
	})
	return err
}
