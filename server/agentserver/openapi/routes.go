package openapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the page
	"encoding/base64"
	"encoding/json"
	"html"
	"net/http"
	"strings"
	"sync"

	"github.com/deft-dev/deft/server/rest"
)

//go:embed page.html
var page []byte

// Options have the facts that a [Service] describes.
type Options struct {
	// Contract describes another server than the agent server; nil for that.
	Contract *Contract
	// Routes are the table of the server.
	Routes []rest.Route
	// Version is the version of the contract.
	Version string
	// Path is where the server stands at its public address; "" for its root.
	Path string
}

// Contract has the facts of a server's contract.
type Contract struct {
	// Title and Description are for people.
	Title, Description string
	// Packed is the contract's document, compressed by gzip.
	Packed []byte
	// Lines has a line for each operation, as operations.txt; "" for none.
	Lines string
	// Dormant says that the server may wait for its configuration (503).
	Dormant bool
	// Scheme names how clients sign in, and Schemes describes it in OpenAPI's form.
	Scheme  string
	Schemes map[string]any
}

// agentServer is the contract of the agent server.
func agentServer() *Contract {
	return &Contract{
		Title: "OpenHands Agent Server", Description: "Deft's Agent Server, with the contract of the OpenHands Agent Server.",
		Packed: packed, Lines: lines, Scheme: "APIKeyHeader", Dormant: true,
	}
}

// contract returns the contract's facts, and the document that it is in.
func (o Options) contract() *Contract {
	if o.Contract != nil {
		return o.Contract
	}
	return agentServer()
}

// Service shows the description.
type Service struct {
	make func() ([]byte, error)
	page func() []byte
}

// New returns a service.
func New(o Options) *Service {
	return &Service{
		make: sync.OnceValues(func() ([]byte, error) {
			doc, err := o.document()
			if err != nil {
				return nil, err
			}
			return json.Marshal(doc)
		}),
		page: sync.OnceValue(func() []byte {
			return bytes.ReplaceAll(page, []byte(pageTitle), []byte(html.EscapeString(o.contract().Title)))
		}),
	}
}

// pageTitle is the title in the page as it is stored.
const pageTitle = "OpenHands Agent Server"

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	return []rest.Route{
		{Method: "GET", Path: "/openapi.json", Dormant: true, Hidden: true, Scope: rest.Public, Limit: rest.NoBody, Handle: s.document},
		{Method: "GET", Path: "/docs", Dormant: true, Hidden: true, Scope: rest.Public, Limit: rest.NoBody, Handle: s.show},
		{Method: "GET", Path: "/redoc", Dormant: true, Hidden: true, Scope: rest.Public, Limit: rest.NoBody, Handle: s.show},
	}
}

func (s *Service) document(w http.ResponseWriter, _ *http.Request) error {
	doc, err := s.make()
	if err != nil {
		return err
	}
	return rest.Bytes(w, http.StatusOK, doc)
}

// policy lets the page run its own script and style, and ask this server.
var policy = sync.OnceValue(func() string {
	hash := func(tag string) string {
		_, rest, _ := strings.Cut(string(page), "<"+tag+">")
		text, _, _ := strings.Cut(rest, "</"+tag+">")
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src " +
		hash("script") + "; style-src " + hash("style")
})

func (s *Service) show(w http.ResponseWriter, _ *http.Request) error {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy())
	h.Set("X-Content-Type-Options", "nosniff")
	if _, err := w.Write(s.page()); err != nil {
		return rest.ErrBroken
	}
	return nil
}
