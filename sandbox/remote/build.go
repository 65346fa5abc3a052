package remote

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox/image"
)

const (
	// uploadTime bounds one try to upload a context, busyTime how long a full queue is
	// tried, and buildTime how long a build may take.
	uploadTime = 10 * time.Minute
	busyTime   = 5 * time.Minute
	buildTime  = 35 * time.Minute
	// longestPoll is between two looks at a build.
	longestPoll = 3 * time.Second
)

// Statuses of a build.
const (
	buildSuccess = "SUCCESS"
	buildQueued  = "QUEUED"
	buildWorking = "WORKING"
)

var _ image.Builder = (*Provider)(nil)

// BuildImage implements [image.Builder] with the API's builder. The names of the image
// begin with the API's registry prefix.
func (p *Provider) BuildImage(ctx context.Context, r image.Request, progress func(line string)) (name string, err error) {
	if p.unusable != nil {
		return "", p.unusable
	}
	ctx, cancel := context.WithTimeoutCause(ctx, buildTime, fault.New(fault.Timeout, "the Runtime API did not build the image within "+buildTime.String()))
	defer cancel()
	base := ""
	if r.Dockerfile == "" {
		found, err := p.api.image(ctx, r.Base)
		if err != nil {
			return "", err
		}
		base = r.Base + " " + found.Image.Uploaded
	}
	plan, err := image.NewPlan(r, base)
	if err != nil {
		return "", err
	}
	defer plan.Close()
	var prefix struct {
		Prefix string `json:"registry_prefix"`
	}
	if err := p.api.call(ctx, http.MethodGet, "/registry_prefix", nil, &prefix); err != nil {
		return "", err
	}
	var tags []string
	for _, tag := range plan.Tags() {
		tags = append(tags, strings.TrimPrefix(strings.TrimSuffix(prefix.Prefix, "/")+"/"+tag, "/"))
	}
	if !r.Refresh {
		if found, err := p.api.image(ctx, tags[0]); err != nil || found.Exists {
			return tags[0], err
		}
	}
	form, err := writeForm(plan, tags)
	if err != nil {
		return "", err
	}
	defer os.Remove(form.path)
	progress("uploading the context to the Runtime API")
	id, err := p.api.upload(ctx, form, progress)
	if err != nil {
		return "", err
	}
	return p.api.follow(ctx, id, progress)
}

// foundImage is the answer of /image_exists.
type foundImage struct {
	Exists bool `json:"exists"`
	Image  struct {
		Uploaded string `json:"upload_time"`
	} `json:"image"`
}

func (a *api) image(ctx context.Context, name string) (found foundImage, err error) {
	return found, a.call(ctx, http.MethodGet, "/image_exists?image="+url.QueryEscape(name), nil, &found)
}

// form is a file with the body of /build.
type form struct{ path, contentType string }

// writeForm writes the body of /build to a file: it may have to be sent again.
func writeForm(plan *image.Plan, tags []string) (_ form, err error) {
	f, err := os.CreateTemp("", "deft-context-")
	if err != nil {
		return form{}, fault.Wrap(err, fault.Internal, "store the context of the build")
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	w := multipart.NewWriter(f)
	part, err := w.CreateFormFile("context", "context.tar.gz")
	if err != nil {
		return form{}, err
	}
	text := base64.NewEncoder(base64.StdEncoding, part)
	packed := gzip.NewWriter(text)
	if err := writeContext(packed, plan); err != nil {
		return form{}, err
	}
	if err := errors.Join(packed.Close(), text.Close()); err != nil {
		return form{}, err
	}
	for i, tag := range tags {
		name := "tags"
		if i == 0 {
			name = "target_image"
		}
		if err := w.WriteField(name, tag); err != nil {
			return form{}, err
		}
	}
	return form{f.Name(), w.FormDataContentType()}, w.Close()
}

const (
	dockerfileName = "Dockerfile" // the only one that the contract has
	ignoreName     = ".dockerignore"
)

// writeContext writes the context of a plan with its instructions as the Dockerfile. If
// there is another one beside it the image gets the plan's; if there is none the image
// has none either.
func writeContext(w io.Writer, plan *image.Plan) error {
	r, pipe := io.Pipe()
	go func() { pipe.CloseWithError(plan.WriteContext(pipe)) }()
	defer r.Close()
	out := tar.NewWriter(w)
	found := false
	for in := tar.NewReader(r); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch head.Name {
		case image.DockerfileName:
			head.Name = dockerfileName
		case ignoreName: // excluded files are not there
			continue
		case dockerfileName:
			found = true
			continue
		}
		if err := out.WriteHeader(head); err != nil {
			return err
		}
		if _, err := io.Copy(out, in); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, r); err != nil { // files may have changed
		return err
	}
	if !found {
		text := dockerfileName + "\n" + ignoreName + "\n"
		err := out.WriteHeader(&tar.Header{Name: ignoreName, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = io.WriteString(out, text)
		}
		if err != nil {
			return err
		}
	}
	return out.Close()
}

// upload begins a build, and returns its id. While the queue is full it waits.
func (a *api) upload(ctx context.Context, f form, progress func(line string)) (id string, err error) {
	client := *a.client
	client.Timeout = uploadTime
	var begun struct {
		ID string `json:"build_id"`
	}
	send := func() (time.Duration, error) {
		file, err := os.Open(f.path)
		if err != nil {
			return 0, fault.Wrap(err, fault.Internal, "read the context of the build")
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			return 0, fault.Wrap(err, fault.Internal, "read the context of the build")
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+"/build", file)
		if err != nil {
			return 0, fault.Wrap(err, fault.Invalid, "ask the Runtime API")
		}
		r.ContentLength = info.Size()
		r.Header.Set("Content-Type", f.contentType)
		return a.send(&client, r, &begun)
	}
	for giveUp := time.Now().Add(busyTime); ; {
		err = retry(ctx, send)
		if !fault.Is(err, fault.RateLimit) || time.Now().After(giveUp) {
			break
		}
		progress("the Runtime API has other builds to do: waiting")
	}
	if err == nil && begun.ID == "" {
		err = fault.New(fault.Corrupt, "the Runtime API's answer to a build names none")
	}
	return begun.ID, err
}

// follow waits for the end of a build and returns the name of its image.
func (a *api) follow(ctx context.Context, id string, progress func(line string)) (string, error) {
	log := buildLog{api: a, id: id, progress: progress}
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, longestPoll) {
		var b struct{ Status, Image, Error string }
		if err := a.call(ctx, http.MethodGet, "/build_status?build_id="+url.QueryEscape(id), nil, &b); err != nil {
			return "", err
		}
		if err := log.show(ctx, b.Status != buildQueued && b.Status != buildWorking); err != nil {
			return "", err
		}
		switch b.Status {
		case buildSuccess:
			if b.Image == "" {
				return "", fault.New(fault.Corrupt, "the Runtime API's answer about a build names no image")
			}
			return b.Image, nil
		case buildQueued, buildWorking:
		default:
			if b.Error == "" {
				b.Error = "it says no more than " + strconv.Quote(b.Status)
			}
			return "", fault.New(fault.Invalid, "the Runtime API could not build the image: "+b.Error)
		}
		if err := sleep(ctx, pause); err != nil {
			return "", err
		}
	}
}

// buildLog shows a build's output, if the API has the route for it: deft
// runtime-api's own.
type buildLog struct {
	api      *api
	id       string
	progress func(line string)

	offset  int64
	part    string
	missing bool
}

// show shows new output. Whole lines are shown, at the end also the last part of
// one.
func (l *buildLog) show(ctx context.Context, last bool) error {
	if l.missing {
		return nil
	}
	var more struct {
		Log  string `json:"log"`
		Next int64  `json:"next_offset"`
	}
	err := l.api.call(ctx, http.MethodGet, fmt.Sprintf("/build_log?build_id=%s&offset=%d", url.QueryEscape(l.id), l.offset), nil, &more)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unsupported) || fault.Is(err, fault.Invalid) {
		l.missing = true
		return nil
	}
	if err != nil {
		return err
	}
	l.offset = more.Next
	l.part += more.Log
	for {
		line, rest, whole := strings.Cut(l.part, "\n")
		if !whole {
			break
		}
		l.progress(line)
		l.part = rest
	}
	if last && l.part != "" {
		l.progress(l.part)
		l.part = ""
	}
	return nil
}
