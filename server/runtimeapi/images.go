package runtimeapi

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/distribution/reference"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/server/runtimeapi/builds"
)

const (
	// maxUpload bounds the body of /build.
	maxUpload = 512 << 20
	// uploadTime bounds how long it takes.
	uploadTime = 10 * time.Minute
	maxField   = 1000 // bytes of a name in it
	maxFields  = 32
)

var plainName = lazyregexp.New(`^[a-z0-9]+(?:[._-][a-z0-9]+)*$`)

// prefix begins the names of a key's images. Each key has its own, so that none replaces
// the images of another.
func (s *Server) prefix(key Key) string {
	name := key.Name
	if !plainName().MatchString(name) || len(name) > 64 || strings.HasPrefix(name, "key-") {
		sum := sha256.Sum256([]byte(name))
		name = "key-" + hex.EncodeToString(sum[:8])
	}
	return s.o.RegistryPrefix + "/" + name
}

func (s *Server) registryPrefix(_ *http.Request, key Key) (any, error) {
	return map[string]string{"registry_prefix": s.prefix(key)}, nil
}

func (s *Server) imageExists(r *http.Request, _ Key) (any, error) {
	name := r.URL.Query().Get("image")
	switch {
	case name == "":
		return nil, fault.New(fault.Invalid, "query.image: Field required")
	case s.o.Images == nil:
		return nil, fault.New(fault.Unsupported, "image_exists: this server's sandboxes have no images")
	}
	created, bytes, err := s.o.Images.FindImage(r.Context(), name)
	if fault.Is(err, fault.NotFound) {
		return map[string]any{"exists": false}, nil
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{"exists": true, "image": map[string]any{
		"upload_time": created.UTC().Format(time.RFC3339), "image_size_bytes": bytes,
	}}, nil
}

// build is the clients' view of a build.
type build struct {
	ID     string `json:"build_id"`
	Status string `json:"status"`
	Image  string `json:"image"`
	Error  string `json:"error,omitempty"`
}

func describeBuild(b builds.Build) build {
	return build{ID: b.ID, Status: string(b.Status), Image: b.Tags[0], Error: b.Reason}
}

// errNoBuilds is the answer of a server whose sandboxes are processes.
func errNoBuilds() error {
	return fault.New(fault.Unsupported, "this server builds no images").Hint("its sandboxes are processes of its machine: deft runtime-api --sandbox docker builds them")
}

// build receives a context and begins to build it.
func (s *Server) build(w http.ResponseWriter, r *http.Request) {
	key, ok := s.key(w, r)
	if !ok {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadTime)) // not all connections have one
	r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
	b, err := s.receiveBuild(r, key)
	if err != nil {
		// A client that still sends reads no answer.
		if _, lost := io.Copy(io.Discard, r.Body); lost != nil {
			s.o.Log.Debug("the rest of an upload is not read", "err", lost)
		}
		s.refuse(w, r, err)
		return
	}
	s.answer(w, http.StatusOK, describeBuild(b))
}

func (s *Server) receiveBuild(r *http.Request, key Key) (_ builds.Build, err error) {
	if s.o.Builds == nil {
		return builds.Build{}, errNoBuilds()
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return builds.Build{}, fault.New(fault.Invalid, "the body is not the form that is expected: "+err.Error())
	}
	u, err := s.o.Builds.Upload(key.Name)
	if err != nil {
		return builds.Build{}, err
	}
	defer func() { err = errors.Join(err, u.Close()) }()
	var target string
	var tags []string
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return builds.Build{}, incomplete(err)
		}
		if n == maxFields {
			return builds.Build{}, fault.New(fault.Invalid, "the form has too many fields")
		}
		switch name := part.FormName(); name {
		case "context":
			err = u.ReadContext(base64.NewDecoder(base64.StdEncoding, part))
		case "target_image":
			target, err = s.imageName(part, key)
		case "tags":
			var tag string
			tag, err = s.imageName(part, key)
			tags = append(tags, tag)
		default:
			err = fault.New(fault.Unsupported, strconv.Quote(name[:min(len(name), maxField)])+": this server does not have that field")
		}
		if err != nil {
			return builds.Build{}, incomplete(err)
		}
	}
	if target == "" {
		return builds.Build{}, fault.New(fault.Invalid, "target_image: Field required")
	}
	all := []string{target}
	for _, tag := range tags {
		if !slices.Contains(all, tag) {
			all = append(all, tag)
		}
	}
	return u.Start(r.Context(), all)
}

// incomplete is the error of a form that cannot be read.
func incomplete(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge // below the error of its reader
	}
	if fault.KindOf(err) != fault.Internal {
		return err
	}
	return fault.New(fault.Invalid, "the form is not complete").Because(err)
}

// imageName reads the name of an image, which must begin with the key's prefix.
func (s *Server) imageName(part *multipart.Part, key Key) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(part, maxField+1))
	if err != nil {
		return "", incomplete(err)
	}
	name, prefix := string(raw), s.prefix(key)+"/"
	ref, err := reference.ParseNormalizedNamed(name)
	switch _, digested := ref.(reference.Digested); {
	case err != nil || len(raw) > maxField || digested:
		return "", fault.New(fault.Invalid, fmt.Sprintf("%s: %.200q cannot be the name of an image", part.FormName(), name))
	case !strings.HasPrefix(name, prefix):
		return "", fault.New(fault.Denied, fmt.Sprintf("%s: the names of your images begin with %s, unlike %.200q", part.FormName(), prefix, name)).
			Hint("ask /registry_prefix for it")
	}
	return reference.FamiliarString(reference.TagNameOnly(ref)), nil
}

// buildID reads the query of /build_status and /build_log.
func (s *Server) buildID(r *http.Request) (string, error) {
	if s.o.Builds == nil {
		return "", errNoBuilds()
	}
	id := r.URL.Query().Get("build_id")
	if id == "" {
		return "", fault.New(fault.Invalid, "query.build_id: Field required")
	}
	return id, nil
}

func (s *Server) buildStatus(r *http.Request, key Key) (any, error) {
	id, err := s.buildID(r)
	if err != nil {
		return nil, err
	}
	b, err := s.o.Builds.Get(key.Name, id)
	if err != nil {
		return nil, err
	}
	return describeBuild(b), nil
}

// buildLog answers with a build's output from an offset on. The contract has no such
// route; deft run shows the progress with it.
func (s *Server) buildLog(r *http.Request, key Key) (any, error) {
	id, err := s.buildID(r)
	if err != nil {
		return nil, err
	}
	var offset int64
	if text := r.URL.Query().Get("offset"); text != "" {
		if offset, err = strconv.ParseInt(text, 10, 64); err != nil || offset < 0 {
			return nil, fault.New(fault.Invalid, "query.offset must be a number of bytes")
		}
	}
	text, next, err := s.o.Builds.ReadLog(key.Name, id, offset)
	if err != nil {
		return nil, err
	}
	return map[string]any{"log": text, "next_offset": next}, nil
}
