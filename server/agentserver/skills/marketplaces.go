package skills

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/skill"
)

// registered returns the skills that marketplaces give to each conversation: the server's and a
// request's, which take the place of the server's of their names. A marketplace or a plugin that cannot be
// read is logged.
func (s *Service) registered(ctx context.Context, of []json.RawMessage) (found []skill.Skill, err error) {
	all, err := plugin.ReadRegistrations(of)
	if err != nil {
		return nil, schema.Invalid(err.Error(), nil, "body", "registered_marketplaces")
	}
	for _, own := range s.o.Marketplaces {
		if !slices.ContainsFunc(all, func(r plugin.Registration) bool { return r.Name == own.Name }) {
			all = append(all, own)
		}
	}
	each, err := s.o.Plugins.ForEach(ctx, all)
	if err != nil {
		return nil, err
	}
	for _, why := range each.Warnings {
		s.o.Log.Warn("a marketplace's skills were left out", "why", why)
	}
	found = each.Skills
	for _, from := range each.Plugins {
		loaded, err := s.o.Plugins.Load(ctx, []plugin.Source{from})
		if err != nil {
			s.o.Log.Warn("a marketplace's plugin was left out", "err", err)
			continue
		}
		s.warn(loaded[0].Warnings)
		found = skill.Override(found, slices.Concat(loaded[0].Skills, loaded[0].Commands))
	}
	return found, ctx.Err()
}
