package s3_test

import (
	"net/http/httptest"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/deft-dev/deft/fault"
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
	if err := backend.CreateBucket("bkt"); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(s.Close)
	return s.URL
}

func TestConformance(t *testing.T) {
	t.Parallel()
	s, err := s3.Open(t.Context(), "s3://bkt/some/prefix?endpoint="+bucket(t), keys)
	if err != nil {
		t.Fatal(err)
	}
	objectstoretest.Run(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	at := bucket(t)
	for address, want := range map[string]fault.Kind{
		"s3://other?endpoint=" + at: fault.NotFound, "s3://bkt?endpoint=http://127.0.0.1:1": fault.Unavailable, "s3://": fault.Invalid, "gs://bkt": fault.Invalid,
		"s3://a:b@bkt": fault.Invalid, "s3://bkt?endpoint=ftp://x": fault.Invalid, "s3://bkt?acl=public": fault.Invalid, "s3://bkt?endpoint=" + at + "/path": fault.Invalid,
	} {
		if _, err := s3.Open(t.Context(), address, keys); !fault.Is(err, want) {
			t.Errorf("%s: %v, want the kind %s", address, err, want)
		}
	}
}
