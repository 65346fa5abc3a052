package s3_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/objectstore/objectstoretest"
	"github.com/deft-dev/deft/internal/objectstore/s3"
)

func keys(name string) string {
	return map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}[name]
}

// bucket starts a server that speaks S3's protocol, with a bucket.
func bucket(t *testing.T) (endpoint string) {
	t.Helper()
	backend := s3mem.New()
	must.Succeed(t, backend.CreateBucket("bkt"))
	s := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(s.Close)
	return s.URL
}

func TestConformance(t *testing.T) {
	t.Parallel()
	s, err := s3.Open(t.Context(), "s3://bkt/some/prefix?endpoint="+bucket(t), keys)
	must.Succeed(t, err)
	objectstoretest.Run(t, s)
	must.Report(t, s.Close())
}

// TestGoogle: Google Cloud Storage is used by its XML API as far as it is S3's. The server
// refuses the parts that it lacks: uploads in parts of S3's form, and other regions than auto.
func TestGoogle(t *testing.T) {
	t.Parallel()
	backend := s3mem.New()
	must.Succeed(t, backend.CreateBucket("my.bucket"))
	inner := gofakes3.New(backend).Server()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if by := r.Header.Get("Authorization"); r.Host != "storage.googleapis.com" || !strings.Contains(by, "Credential=GOOG1EXAMPLE/") || !strings.Contains(by, "/auto/s3/aws4_request") {
			t.Errorf("%s %s%s is authorized by %q", r.Method, r.Host, r.URL, by)
		}
		if q := r.URL.Query(); q.Has("uploads") || q.Has("uploadId") {
			t.Errorf("%s %s is an upload in parts", r.Method, r.URL)
		}
		if r.ContentLength < 0 { // Google's takes it, and the one of the test does not
			body, err := io.ReadAll(r.Body)
			if err != nil { // it was broken off
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	there := func(to *http.Transport) {
		to.Proxy = nil
		to.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		to.TLSClientConfig.ServerName = "example.com" // the server's certificate is for it
		to.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", server.Listener.Addr().String())
		}
	}
	hmac := func(name string) string {
		return map[string]string{"AWS_ACCESS_KEY_ID": "GOOG1EXAMPLE", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "eu-central-1"}[name]
	}
	for _, address := range []string{"gs://my.bucket/some/prefix", "s3://my.bucket?endpoint=https://storage.googleapis.com"} {
		s, err := s3.OpenWith(t.Context(), address, hmac, there)
		must.Succeed(t, err)
		objectstoretest.Run(t, s)
		must.Report(t, s.Close())
	}
	if _, err := s3.OpenWith(t.Context(), "gs://other", hmac, there); !fault.Is(err, fault.NotFound) {
		t.Errorf("a bucket that is not there: %v", err)
	}
}

// TestGoogleCredentials: anything but an HMAC key is refused before anything is
// sent.
func TestGoogleCredentials(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]map[string]string{
		"none":              {},
		"of Amazon":         {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "b"},
		"without a secret":  {"AWS_ACCESS_KEY_ID": "GOOG1EXAMPLE"},
		"a service account": {"GOOGLE_APPLICATION_CREDENTIALS": "/srv/key.json"},
	} {
		_, err := s3.Open(t.Context(), "gs://bkt", func(name string) string { return env[name] })
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "HMAC key") || !strings.Contains(fault.HintOf(err), "gcloud storage hmac create") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	at := bucket(t)
	for address, want := range map[string]fault.Kind{
		"s3://other?endpoint=" + at: fault.NotFound, "s3://bkt?endpoint=http://127.0.0.1:1": fault.Unavailable, "s3://": fault.Invalid, "azblob://bkt": fault.Invalid, "gs://bkt?region=eu": fault.Invalid,
		"s3://a:b@bkt": fault.Invalid, "s3://bkt?endpoint=ftp://x": fault.Invalid, "s3://bkt?acl=public": fault.Invalid, "s3://bkt?endpoint=" + at + "/path": fault.Invalid,
	} {
		if _, err := s3.Open(t.Context(), address, keys); !fault.Is(err, want) {
			t.Errorf("%s: %v, want the kind %s", address, err, want)
		}
	}
}
