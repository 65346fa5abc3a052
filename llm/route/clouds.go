package route

import (
	"os"
	"strings"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/anthropic"
	"github.com/deft-dev/deft/llm/bedrock"
	"github.com/deft-dev/deft/llm/gemini"
)

func newGemini(cfg llm.Config) (llm.Model, error) { return made(gemini.New(cfg)) }

// newVertex and newBedrock find their credentials in the environment, as the
// clouds' own tools do.
func newVertex(cfg llm.Config) (llm.Model, error) {
	if strings.HasPrefix(cfg.WireModel, "claude") {
		cfg, err := gemini.VertexClaude(cfg, os.Getenv)
		if err != nil {
			return nil, err
		}
		return made(anthropic.New(cfg))
	}
	return made(gemini.NewVertex(cfg, os.Getenv))
}

func newBedrock(cfg llm.Config) (llm.Model, error) { return made(bedrock.New(cfg, os.Getenv)) }

// overridden reports whether the user's catalogue applies. Adapters of clouds
// look models up by other names than those on the wire; for them it applies
// only if it has the model.
func (r Router) overridden(p provider, wire string) bool {
	if r.Catalog == nil || p.make == nil {
		return r.Catalog != nil
	}
	_, known := r.Catalog.Lookup(wire)
	return known
}
