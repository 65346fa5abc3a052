package settings

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/outbound"
)

// localModel is a model that a program on this machine serves. The contract has no such
// route.
type localModel struct {
	Program string `json:"program"`
	Model   string `json:"model"` // as in llm.model
	BaseURL string `json:"base_url"`
}

// server is a program that serves models, at the port that it has by default.
type server struct {
	name, address string // address begins with http://
	list          string // path of the list of models
	prefix, base  string // of the names of models, and of the address that they are used at
	read          func(body []byte) ([]string, error)
}

// localServers are all that is looked for: loopback addresses, never any that a user names.
var localServers = []server{
	{"Ollama", "http://127.0.0.1:11434", "/api/tags", "ollama/", "", ollamaModels},
	{"LM Studio", "http://127.0.0.1:1234", "/v1/models", "openai/", "/v1", openAIModels("")},
	// Other programs listen at this port, too, such as Deft's own agent server.
	{"vLLM", "http://127.0.0.1:8000", "/v1/models", "openai/", "/v1", openAIModels("vllm")},
}

// Bounds of local programs' answers.
const (
	localTimeout = time.Second
	localBody    = 1 << 20 // bytes
	localModels  = 50      // of each program
	localName    = 200     // bytes of the name of a model
)

// local lists the models of programs on this machine. A server for others does not look:
// programs beside it are none of its users' business.
func (u user) local(r *http.Request) (any, error) {
	if outbound.Restricted() {
		return nil, fault.New(fault.Denied, "this server serves others, and does not look for models on its own machine")
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		Timeout:       localTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return map[string]any{"items": findLocal(r.Context(), client, localServers)}, nil
}

// findLocal asks all servers at once. One that does not answer, or not as it should, is
// left out.
func findLocal(ctx context.Context, client *http.Client, servers []server) []localModel {
	found := make([][]string, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() { found[i] = s.models(ctx, client) })
	}
	all.Wait()
	out := []localModel{}
	for i, s := range servers {
		for _, name := range found[i] {
			out = append(out, localModel{s.name, s.prefix + name, s.address + s.base})
		}
	}
	return out
}

func (s server) models(ctx context.Context, client *http.Client) []string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address+s.list, http.NoBody)
	if err != nil {
		return nil
	}
	resp, err := client.Do(req)
	if err != nil { // nothing listens there
		return nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, localBody))
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil
	}
	names, err := s.read(body)
	if err != nil { // another program
		return nil
	}
	var out []string
	for _, name := range names {
		if name != "" && len(name) <= localName && !embeds(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) || r == ' ' }) && len(out) < localModels {
			out = append(out, name)
		}
	}
	return out
}

// embeds reports whether a model makes vectors, and cannot be talked to: by its name, as the
// lists of most programs say nothing else of it.
func embeds(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"embed", "rerank", "minilm", "bge-"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

func ollamaModels(body []byte) (names []string, err error) {
	var list struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	err = json.Unmarshal(body, &list)
	for _, m := range list.Models {
		names = append(names, m.Name)
	}
	return names, err
}

// openAIModels reads the list of OpenAI's API; by is who must own the models, "" for anyone.
func openAIModels(by string) func([]byte) ([]string, error) {
	return func(body []byte) (names []string, err error) {
		var list struct {
			Data []struct {
				ID    string `json:"id"`
				Owner string `json:"owned_by"`
			} `json:"data"`
		}
		err = json.Unmarshal(body, &list)
		for _, m := range list.Data {
			if by == "" || m.Owner == by {
				names = append(names, m.ID)
			}
		}
		return names, err
	}
}
