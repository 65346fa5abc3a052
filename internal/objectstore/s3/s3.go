// Package s3 keeps objects in a bucket of Amazon S3, or of a server that speaks its protocol,
// such as Google Cloud Storage.
//
// # Usage
//
//	s, err := s3.Open(ctx, "s3://BUCKET/PREFIX?region=eu-central-1", os.Getenv)
//	s, err = s3.Open(ctx, "s3://BUCKET?endpoint=https://minio.example.com:9000", os.Getenv)
//	s, err = s3.Open(ctx, "gs://BUCKET/PREFIX", os.Getenv)
//
// Credentials come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, else
// from the files of the AWS CLI, else from the machine's role. Google Cloud Storage takes an
// HMAC key in the first two, and nothing else
// (https://cloud.google.com/storage/docs/aws-simple-migration): its own protocol comes with
// an SDK that would make the program 33 MB larger (gocloud.dev/blob 0.48 with Azure's).
//
// # Concurrency and failure
//
// As documented in package objectstore. A Put needs some 16 MiB of memory, whatever its size.
// A bucket that does not answer is Unavailable.
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

// partSize is the part of an object that is sent, and kept in memory, at a time; an object
// smaller than small is sent in one request.
const (
	partSize = 16 << 20
	small    = 64 << 10
)

// Store is an [objectstore.Store] in a bucket.
type Store struct {
	client         *minio.Client
	transport      *http.Transport
	bucket, prefix string
	google         bool // Google Cloud Storage, which takes an object in one request
}

var _ objectstore.Store = (*Store)(nil)

// googleHost is the host of Google Cloud Storage.
const googleHost = "storage.googleapis.com"

// place is a parsed address.
type place struct {
	host, bucket, prefix, region string
	secure                       bool
}

func (p place) google() bool { return p.host == googleHost }

// parse reads an address. region is the one of an address without.
func parse(address, region string) (place, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" && u.Scheme != "gs" || u.Host == "" || u.User != nil {
		return place{}, fault.New(fault.Invalid, "the address of a bucket is s3://BUCKET/PREFIX?endpoint=URL&region=NAME or gs://BUCKET/PREFIX")
	}
	p := place{"s3.amazonaws.com", u.Host, strings.Trim(u.Path, "/"), region, true}
	if u.Scheme == "gs" {
		if u.RawQuery != "" {
			return place{}, fault.New(fault.Invalid, "the address of a bucket of Google Cloud Storage is gs://BUCKET/PREFIX, without parameters")
		}
		p.host = googleHost
	}
	for key, values := range u.Query() {
		switch key {
		case "region":
			p.region = values[0]
		case "endpoint":
			at, err := url.Parse(values[0])
			if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" || strings.Trim(at.Path, "/") != "" || at.User != nil {
				return place{}, fault.New(fault.Invalid, "the endpoint of a bucket is https://HOST or http://HOST:PORT")
			}
			p.host, p.secure = at.Host, at.Scheme == "https"
		default:
			return place{}, fault.New(fault.Invalid, "the address of a bucket has no "+key).Hint("it has endpoint and region")
		}
	}
	if p.google() {
		p.region = "auto"
	}
	return p, nil
}

// credentialsOf finds the credentials of a bucket.
func credentialsOf(p place, env func(string) string) (*credentials.Credentials, error) {
	id := env("AWS_ACCESS_KEY_ID")
	switch {
	case p.google() && (!strings.HasPrefix(id, "GOOG") || env("AWS_SECRET_ACCESS_KEY") == ""):
		return nil, fault.New(fault.Invalid, "a bucket of Google Cloud Storage is opened with an HMAC key, and AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY have none").
			Hint("make one for a service account that may use the bucket (gcloud storage hmac create ACCOUNT); its id begins with GOOG. Other credentials of Google are not used")
	case id != "":
		return credentials.NewStaticV4(id, env("AWS_SECRET_ACCESS_KEY"), env("AWS_SESSION_TOKEN")), nil
	}
	return credentials.NewChainCredentials([]credentials.Provider{&credentials.FileAWSCredentials{}, &credentials.IAM{}}), nil
}

// Open opens the bucket of a URL, which must exist. env returns variables of the
// environment. Invalid for any other URL, and for credentials that Google Cloud
// Storage does not take.
func Open(ctx context.Context, address string, env func(string) string) (*Store, error) {
	return open(ctx, address, env, func(*http.Transport) {})
}

// open is Open with a change of the connections.
func open(ctx context.Context, address string, env func(string) string, change func(*http.Transport)) (*Store, error) {
	p, err := parse(address, env("AWS_REGION"))
	if err != nil {
		return nil, err
	}
	found, err := credentialsOf(p, env)
	if err != nil {
		return nil, err
	}
	transport, err := minio.DefaultTransport(p.secure)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "open the bucket "+p.bucket)
	}
	change(transport)
	o := &minio.Options{Creds: found, Secure: p.secure, Region: p.region, Transport: transport}
	if p.google() { // names of buckets may have dots, which no certificate is for
		o.BucketLookup = minio.BucketLookupPath
	}
	s := &Store{transport: transport, bucket: p.bucket, prefix: p.prefix, google: p.google()}
	if s.client, err = minio.New(p.host, o); err != nil {
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
		PartSize: partSize, NumThreads: 1, ContentType: "application/octet-stream", DisableContentSha256: true,
		SendContentMd5: !s.google || size >= 0, // of each part; nobody knows a whole object's before it is sent
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
