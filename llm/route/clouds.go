package route

import (
	"os"
	"strings"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/bedrock"
	"github.com/deft-dev/deft/llm/gemini"
)

// googleAI is the Gemini API.
var googleAI = provider{name: "gemini", url: gemini.DefaultURL, keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, make: newGemini}

func newGemini(cfg llm.Config) (llm.Model, error) {
	m, err := gemini.New(cfg)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// newVertex and newBedrock find their credentials in the environment, as the
// clouds' own tools do.
func newVertex(cfg llm.Config) (llm.Model, error) {
	if strings.HasPrefix(cfg.WireModel, "claude") {
		return gemini.NewVertexClaude(cfg, os.Getenv)
	}
	m, err := gemini.NewVertex(cfg, os.Getenv)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func newBedrock(cfg llm.Config) (llm.Model, error) {
	m, err := bedrock.New(cfg, os.Getenv)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// speaksFor reports whether the user's catalogue is to be heard. Adapters of
// clouds look models up under plainer names than those on the wire; there it
// counts only if it knows the model.
func (r Router) speaksFor(p provider, wire string) bool {
	if r.Catalog == nil || p.make == nil {
		return r.Catalog != nil
	}
	_, known := r.Catalog.Lookup(wire)
	return known
}
