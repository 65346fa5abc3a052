package mcp

import (
	"bytes"
	"io"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// localURL is the address of servers of this process, which nothing resolves.
const localURL = "http://local.invalid/mcp"

// local returns the transport to a server of this process.
func local(h http.Handler) (sdk.Transport, *http.Client) {
	client := &http.Client{Transport: inProcess{h}}
	return &sdk.StreamableClientTransport{Endpoint: localURL, HTTPClient: client, MaxEventSize: maxMessage, DisableStandaloneSSE: true}, client
}

// inProcess has a handler answer requests, whole answers at a time.
type inProcess struct{ h http.Handler }

// RoundTrip implements [http.RoundTripper].
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	in := r.Clone(r.Context())
	in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "local"
	a := &recorded{header: http.Header{}, status: http.StatusOK}
	p.h.ServeHTTP(a, in)
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: r,
	}, nil
}

// recorded is an answer.
type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (a *recorded) Header() http.Header { return a.header }

// WriteHeader implements [http.ResponseWriter].
func (a *recorded) WriteHeader(status int) { a.status = status }

// Write implements [http.ResponseWriter].
func (a *recorded) Write(b []byte) (int, error) { return a.body.Write(b) }
