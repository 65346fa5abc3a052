package profiles

import (
	"context"
	"log/slog"

	"github.com/deft-dev/deft/internal/agentserver/settings/agentsettings"
	"github.com/deft-dev/deft/internal/agentserver/settings/shape"
)

// Metas are the saved meta-profiles.
type Metas struct {
	folder
	log *slog.Logger
}

// MetaSummary is what a list says about a meta-profile.
type MetaSummary struct {
	Name       string  `json:"name"`
	Classifier *string `json:"classifier_model"`
	Classes    int     `json:"num_classes"`
}

// Load returns a meta-profile.
func (s *Metas) Load(_ context.Context, name string) (*shape.Map, error) {
	m, err := s.read(name)
	switch {
	case err != nil:
		return nil, err
	case m == nil:
		return nil, s.missing(name)
	}
	out, err := agentsettings.MetaProfile.Check(m, shape.Reading{})
	if err != nil {
		return nil, s.unreadable(name, err)
	}
	return out, nil
}

// Save writes a checked meta-profile.
func (s *Metas) Save(ctx context.Context, name string, doc *shape.Map) error {
	path, err := s.path(name)
	if err != nil {
		return err
	}
	unlock, err := s.hold(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.room(path); err != nil {
		return err
	}
	return write(path, doc)
}

// Delete removes a meta-profile; one that is not there is no error.
func (s *Metas) Delete(ctx context.Context, name string) error {
	unlock, err := s.hold(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.remove(name)
}

// List returns all meta-profiles. Files that cannot be read are passed over.
func (s *Metas) List(context.Context) ([]MetaSummary, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	out := []MetaSummary{}
	for _, name := range names {
		m, err := s.read(name)
		if err != nil || m == nil {
			s.log.Warn("passing over a meta-profile that cannot be read", "name", name, "error", err)
			continue
		}
		classes, _ := m.Get("classes").([]any)
		out = append(out, MetaSummary{Name: name, Classifier: textOf(m, "classifier_model"), Classes: len(classes)})
	}
	return out, nil
}
