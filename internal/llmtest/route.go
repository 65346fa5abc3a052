package llmtest

import (
	"fmt"
	"net/http"
	"strings"
)

// routed is the result of the path of a request.
type routed struct {
	protocol Protocol
	list     bool   // the list of models
	count    bool   // count tokens only
	model    string // Gemini only
	stream   bool   // Gemini only
	sse      bool   // stream as events; false only for Gemini without alt=sse
}

// route finds the protocol by the end of the path, so that any prefix works.
func route(r *http.Request) routed {
	path := r.URL.Path
	rt := routed{sse: true}
	switch {
	case strings.HasSuffix(path, "/models") && r.Method == http.MethodGet:
		rt.list = true
	case strings.HasSuffix(path, "/chat/completions"):
		rt.protocol = OpenAIChat
	case strings.HasSuffix(path, "/responses"):
		rt.protocol = OpenAIResponses
	case strings.HasSuffix(path, "/messages"):
		rt.protocol = Anthropic
	case strings.HasSuffix(path, "/messages/count_tokens"):
		rt.protocol, rt.count = Anthropic, true
	default:
		return routeGemini(r)
	}
	return rt
}

// routeGemini reads …/models/{model}:{method}.
func routeGemini(r *http.Request) routed {
	var rt routed
	at := strings.LastIndex(r.URL.Path, "/models/")
	if at < 0 {
		return rt
	}
	model, method, _ := strings.Cut(r.URL.Path[at+len("/models/"):], ":")
	rt.model = model
	switch method {
	case "generateContent":
		rt.protocol = Gemini
	case "streamGenerateContent":
		rt.protocol, rt.stream = Gemini, true
		rt.sse = r.URL.Query().Get("alt") == "sse"
	case "countTokens":
		rt.protocol, rt.count = Gemini, true
	}
	return rt
}

// credential returns the key of a request, from any of its places.
func credential(r *http.Request) string {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "bearer") {
		return token
	}
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key", "Api-Key"} {
		if key := r.Header.Get(name); key != "" {
			return key
		}
	}
	return r.URL.Query().Get("key")
}

// listModels answers in the protocol that the headers or the path indicate.
func (s *Server) listModels(w http.ResponseWriter, r *http.Request) {
	protocol := OpenAIChat
	switch {
	case r.Header.Get("Anthropic-Version") != "":
		protocol = Anthropic
	case r.Header.Get("X-Goog-Api-Key") != "" || strings.Contains(r.URL.Path, "/v1beta/"):
		protocol = Gemini
	}
	if s.prog.APIKey != "" && credential(r) != s.prog.APIKey {
		s.writeError(w, protocol, &apiError{kind: Auth})
		return
	}
	ids := s.prog.Models
	if len(ids) == 0 {
		ids = []string{"scripted"}
	}
	list := make([]string, len(ids))
	for i, id := range ids {
		switch protocol {
		case Anthropic:
			list[i] = fmt.Sprintf(`{"type":"model","id":%s,"display_name":%s,"created_at":"2026-01-01T00:00:00Z"}`, q(id), q(id))
		case Gemini:
			list[i] = fmt.Sprintf(`{"name":%s,"displayName":%s,"inputTokenLimit":1048576,"outputTokenLimit":65536,"supportedGenerationMethods":["generateContent","countTokens"]}`, q("models/"+id), q(id))
		default:
			list[i] = fmt.Sprintf(`{"id":%s,"object":"model","created":1767225600,"owned_by":"llmtest"}`, q(id))
		}
	}
	all := strings.Join(list, ",")
	switch protocol {
	case Anthropic:
		all = fmt.Sprintf(`{"data":[%s],"has_more":false,"first_id":%s,"last_id":%s}`, all, q(ids[0]), q(ids[len(ids)-1]))
	case Gemini:
		all = `{"models":[` + all + `]}`
	default:
		all = `{"object":"list","data":[` + all + `]}`
	}
	s.writeJSON(w, protocol, http.StatusOK, all)
}

func (s *Server) countTokens(w http.ResponseWriter, req *Request) {
	body := fmt.Sprintf(`{"input_tokens":%d}`, req.inputTokens)
	if req.Protocol == Gemini {
		body = fmt.Sprintf(`{"totalTokens":%d}`, req.inputTokens)
	}
	s.writeJSON(w, req.Protocol, http.StatusOK, body)
}
