package settings

import (
	"context"

	"github.com/deft-dev/deft/schema"
)

// ActivateMeta makes a meta-profile the active one, with a copy of it in the
// agent's settings. applied is false for settings that cannot route between
// models, such as an ACP agent's.
func (s *Service) ActivateMeta(ctx context.Context, name string) (applied bool, err error) {
	m, err := s.Profiles.Metas.Load(ctx, name)
	if err != nil {
		return false, err
	}
	doc, err := s.setMeta(ctx, &name, m)
	return err == nil && doc.ActiveMetaProfile != nil && *doc.ActiveMetaProfile == name, err
}

// DeleteMeta deletes a meta-profile, which is no longer active then.
func (s *Service) DeleteMeta(ctx context.Context, name string) error {
	if err := s.Profiles.Metas.Delete(ctx, name); err != nil {
		return err
	}
	doc, err := s.Load()
	if err != nil {
		return err
	}
	if doc.ActiveMetaProfile != nil && *doc.ActiveMetaProfile == name {
		_, err = s.setMeta(ctx, nil, nil)
	}
	return err
}

func (s *Service) setMeta(ctx context.Context, name *string, config any) (*Document, error) {
	return s.Change(ctx, func(d *Document) error {
		return s.apply(d, Diff{Agent: schema.Of("meta_profile", config), ActiveMetaProfile: &name})
	})
}
