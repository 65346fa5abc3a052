package plugin

import (
	"context"
	"path"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/plugin/gitsource"
	"github.com/deft-dev/deft/skill"
)

// ForEach is what marketplaces give to each conversation.
type ForEach struct {
	Plugins []Source
	Skills  []skill.Skill
	// Warnings name marketplaces, plugins and skills that cannot be read.
	Warnings []string
}

// ForEach reads which plugins and skills the marketplaces give to each conversation
// (reference: LocalConversation._ensure_plugins_loaded). One that cannot be read is a warning; it has the
// errors of [Loader.Check].
func (l Loader) ForEach(ctx context.Context, all []Registration) (f ForEach, err error) {
	all = slices.DeleteFunc(slices.Clone(all), func(r Registration) bool { return !r.Each.All && len(r.Each.Names) == 0 })
	if len(all) == 0 {
		return f, nil
	}
	from := make([]Source, len(all))
	for i, r := range all {
		from[i] = r.From
	}
	if err := l.Check(ctx, from); err != nil {
		return f, err
	}
	place, done, err := l.place()
	if err != nil {
		return f, err
	}
	defer done()
	for _, r := range all {
		if err := l.one(ctx, r, place, &f); ctx.Err() != nil {
			return f, ctx.Err()
		} else if err != nil {
			f.warn(r, fault.Text(err))
		}
	}
	return f, nil
}

func (f *ForEach) warn(r Registration, why string) {
	f.Warnings = append(f.Warnings, "marketplace "+r.Name+": "+why)
}

// one adds a marketplace's plugins and skills.
func (l Loader) one(ctx context.Context, r Registration, place string, f *ForEach) error {
	dir, outward, err := l.bringSome(ctx, r.From, place)
	if err != nil {
		return unloaded(ctx, r.From, err)
	}
	for _, name := range manifests { // which are not read without their links
		if err := gitsource.Refuse(gitsource.Below(outward, path.Dir(name))); err != nil {
			return err
		}
	}
	m, err := readMarketplace(dir, r.From)
	if err != nil {
		return err
	}
	for _, why := range m.LeftOut {
		f.warn(r, why)
	}
	for _, e := range m.Plugins {
		switch {
		case !r.Each.has(e.Name):
		case e.Why != "":
			f.warn(r, "the plugin "+e.Name+" is not loaded: "+e.Why)
		default:
			f.Plugins = append(f.Plugins, e.From)
		}
	}
	for _, e := range m.Skills {
		if !r.Each.has(e.Name) {
			continue
		}
		s, err := l.skill(ctx, e, dir, outward, place)
		if err != nil {
			f.warn(r, "the skill "+e.Name+" is not loaded: "+fault.Text(err))
			continue
		}
		f.Skills = append(f.Skills, s)
	}
	named := func(name string) func(Entry) bool { return func(e Entry) bool { return e.Name == name } }
	for _, name := range r.Each.Names {
		if !slices.ContainsFunc(m.Plugins, named(name)) && !slices.ContainsFunc(m.Skills, named(name)) {
			f.warn(r, "it has no plugin and no skill "+name)
		}
	}
	return nil
}

// skill loads a skill of the marketplace in a directory, without the links that lead out of it.
func (l Loader) skill(ctx context.Context, e Entry, market string, outward []string, place string) (s skill.Skill, err error) {
	switch {
	case e.Why != "":
		return s, fault.New(fault.Unsupported, e.Why)
	case e.skill != nil:
		s = *e.skill
		err = gitsource.Refuse(gitsource.Below(outward, e.skillDir(market)))
	case e.dir != "":
		if err = gitsource.Refuse(gitsource.Below(outward, e.dir)); err == nil {
			s, err = skill.LoadIn(market, e.dir)
		}
	default:
		if err = l.Check(ctx, []Source{e.From}); err != nil {
			return s, err
		}
		var dir string
		if dir, err = l.bring(ctx, e.From, place); err != nil {
			return s, unloaded(ctx, e.From, err)
		}
		s, err = skill.LoadIn(dir, ".")
	}
	if l.Cache == "" {
		s.Resources = nil // they are not kept
	}
	return s, err
}
