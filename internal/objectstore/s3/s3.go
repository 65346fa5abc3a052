// Package s3 keeps objects in a bucket of Amazon S3, or of a server that speaks its protocol.
//
// # Usage
//
//	s, err := s3.Open(ctx, "s3://BUCKET/PREFIX?region=eu-central-1", os.Getenv)
//	s, err = s3.Open(ctx, "s3://BUCKET?endpoint=https://minio.example.com:9000", os.Getenv)
//
// Credentials come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, else
// from the files of the AWS CLI, else from the machine's role.
//
// # Concurrency and failure
//
// Those of package objectstore. A Put needs some 16 MiB of memory, whatever its size. A bucket
// that does not answer is Unavailable.
package s3

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/objectstore"
)

// partSize is how much of an object is sent, and kept in memory, at a time; what is smaller
// than small is sent in one request.
const (
	partSize = 16 << 20
	small    = 64 << 10
)

// Store is an [objectstore.Store] in a bucket.
type Store struct {
	client         *minio.Client
	transport      *http.Transport
	bucket, prefix string
}

var _ objectstore.Store = (*Store)(nil)

// Open opens the bucket of a URL, which must exist. env returns variables of the
// environment.
func Open(ctx context.Context, address string, env func(string) string) (*Store, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil {
		return nil, fault.New(fault.Invalid, "the address of a bucket is s3://BUCKET/PREFIX?endpoint=URL&region=NAME")
	}
	secure, host, region := true, "s3.amazonaws.com", env("AWS_REGION")
	for key, values := range u.Query() {
		switch key {
		case "region":
			region = values[0]
		case "endpoint":
			at, err := url.Parse(values[0])
			if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" || strings.Trim(at.Path, "/") != "" || at.User != nil {
				return nil, fault.New(fault.Invalid, "the endpoint of a bucket is https://HOST or http://HOST:PORT")
			}
			host, secure = at.Host, at.Scheme == "https"
		default:
			return nil, fault.New(fault.Invalid, "the address of a bucket has no "+key).Hint("it has endpoint and region")
		}
	}
	found := credentials.NewChainCredentials([]credentials.Provider{&credentials.FileAWSCredentials{}, &credentials.IAM{}})
	if id := env("AWS_ACCESS_KEY_ID"); id != "" {
		found = credentials.NewStaticV4(id, env("AWS_SECRET_ACCESS_KEY"), env("AWS_SESSION_TOKEN"))
	}
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "open the bucket "+u.Host)
	}
	s := &Store{transport: transport, bucket: u.Host, prefix: strings.Trim(u.Path, "/")}
	if s.client, err = minio.New(host, &minio.Options{Creds: found, Secure: secure, Region: region, Transport: transport}); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "open the bucket "+s.bucket)
	}
	there, err := s.client.BucketExists(ctx, s.bucket)
	if err == nil && !there {
		err = fault.New(fault.NotFound, "there is no bucket "+s.bucket)
	}
	if err != nil {
		return nil, errors.Join(failed(err, "open the bucket "+s.bucket), s.Close())
	}
	return s, nil
}

// Close ends connections that are kept.
func (s *Store) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// Put implements [objectstore.Store].
func (s *Store) Put(ctx context.Context, key string, content io.Reader) error {
	if err := objectstore.CheckKey(key); err != nil {
		return err
	}
	size := int64(-1)
	begin := bufio.NewReaderSize(content, small)
	content = begin
	switch all, err := begin.Peek(small); {
	case errors.Is(err, io.EOF): // it is sent at once
		content, size = bytes.NewReader(all), int64(len(all))
	case err != nil:
		return err
	}
	if size == 0 {
		return objectstore.ErrEmpty
	}
	_, err := s.client.PutObject(ctx, s.bucket, path.Join(s.prefix, key), content, size, minio.PutObjectOptions{
		PartSize: partSize, NumThreads: 1, ContentType: "application/octet-stream", SendContentMd5: true, DisableContentSha256: true, // sums of parts are sent instead
	})
	return failed(err, "store an object")
}

// Get implements [objectstore.Store].
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := objectstore.CheckKey(key); err != nil {
		return nil, err
	}
	o, err := s.client.GetObject(ctx, s.bucket, path.Join(s.prefix, key), minio.GetObjectOptions{})
	if err == nil {
		if _, err = o.Stat(); err != nil { // nothing is asked before
			err = errors.Join(failed(err, "read an object"), o.Close())
		}
	}
	if err != nil {
		return nil, failed(err, "read an object")
	}
	return o, nil
}

// Delete implements [objectstore.Store].
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := objectstore.CheckKey(key); err != nil {
		return err
	}
	return failed(s.client.RemoveObject(ctx, s.bucket, path.Join(s.prefix, key), minio.RemoveObjectOptions{}), "delete an object")
}

// failed gives an error its kind.
func failed(err error, what string) error {
	if err == nil || fault.KindOf(err) != fault.Internal {
		return err
	}
	kind := fault.Unavailable
	switch answer := minio.ToErrorResponse(err); {
	case answer.Code == "NoSuchKey", answer.Code == "NoSuchBucket":
		kind = fault.NotFound
	case answer.StatusCode == 401, answer.StatusCode == 403:
		return fault.New(fault.Denied, what+": it is refused").Because(err).Hint("look at the credentials of the bucket (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) and at its policy")
	case errors.Is(err, context.Canceled):
		kind = fault.Canceled
	case answer.StatusCode >= 400 && answer.StatusCode < 500:
		kind = fault.Internal
	}
	return fault.Wrap(err, kind, what)
}
