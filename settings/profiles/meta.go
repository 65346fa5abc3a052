package profiles

import (
	"context"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/agentsettings"
)

// Metas are the saved meta-profiles.
type Metas struct{ folder }

// MetaSummary is a meta-profile in a list.
type MetaSummary struct {
	Name       string  `json:"name"`
	Classifier *string `json:"classifier_model"`
	Classes    int     `json:"num_classes"`
}

// Load returns a meta-profile.
func (s *Metas) Load(_ context.Context, name string) (*schema.Map, error) {
	return load(s.folder, name, func(m *schema.Map) (*schema.Map, error) {
		return agentsettings.MetaProfile.Check(m, schema.Reading{})
	})
}

// Save writes a checked meta-profile.
func (s *Metas) Save(ctx context.Context, name string, doc *schema.Map) error {
	return s.locked(ctx, func() error { return s.write(name, doc) })
}

// Delete removes a meta-profile; a missing one is no error.
func (s *Metas) Delete(ctx context.Context, name string) error {
	return s.locked(ctx, func() error { return s.remove(name) })
}

// List returns all meta-profiles. Files that cannot be read are skipped.
func (s *Metas) List(context.Context) ([]MetaSummary, error) {
	return list(s.folder, func(name string, m *schema.Map) MetaSummary {
		classes, _ := m.Get("classes").([]any)
		return MetaSummary{Name: name, Classifier: m.Pointer("classifier_model"), Classes: len(classes)}
	})
}
