package docker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/moby/moby/api/types/build"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox/image"
)

var (
	_ image.Builder        = (*Provider)(nil)
	_ image.ContextBuilder = (*Provider)(nil)
)

// BuildImage implements image.Builder with the engine's own builder. Its steps run as
// root in the engine's default network.
func (p *Provider) BuildImage(ctx context.Context, r image.Request, progress func(line string)) (name string, err error) {
	if p.unusable != nil {
		return "", p.unusable
	}
	var base string
	if r.Dockerfile == "" {
		r.Base = cmp.Or(r.Base, p.opt.Image)
		if base, err = p.imageID(ctx, r.Base, r.Refresh); err != nil {
			return "", err
		}
	}
	plan, err := image.NewPlan(r, base)
	if err != nil {
		return "", err
	}
	defer plan.Close()
	tags := plan.Tags()
	if !r.Refresh {
		_, err := p.engine.ImageInspect(ctx, tags[0])
		if err = engineError(err, "look for the image"); err == nil || !fault.Is(err, fault.NotFound) {
			return tags[0], err
		}
	}
	files, send := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		err := plan.WriteContext(send)
		send.CloseWithError(err) // nil is the end of the stream
		sent <- err
	}()
	err = p.build(ctx, files, client.ImageBuildOptions{
		Tags: tags, Labels: map[string]string{p.labelBuilt(): tags[0]}, Dockerfile: image.DockerfileName, PullParent: r.Refresh && r.Dockerfile != "",
	}, progress)
	files.Close() // the engine may not have read all of it
	if failed := <-sent; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		return "", failed
	}
	if err != nil {
		return "", err
	}
	return tags[0], nil
}

// cpuPeriod is the one of the kernel's scheduler that CPUQuota refers to, in microseconds.
const cpuPeriod = 100_000

// BuildContext implements image.ContextBuilder with the engine's own builder.
func (p *Provider) BuildContext(ctx context.Context, c image.Context, progress func(line string)) error {
	if p.unusable != nil {
		return p.unusable
	}
	o := client.ImageBuildOptions{Tags: c.Tags, Dockerfile: "Dockerfile", NetworkMode: "none", Memory: c.MemoryBytes, MemorySwap: c.MemoryBytes}
	if c.Network {
		o.NetworkMode = "default"
	}
	if c.CPUs > 0 {
		o.CPUPeriod, o.CPUQuota = cpuPeriod, int64(c.CPUs*cpuPeriod)
	}
	return p.build(ctx, c.Files, o, progress)
}

// build sends a context to the engine and follows the build.
func (p *Provider) build(ctx context.Context, files io.Reader, o client.ImageBuildOptions, progress func(line string)) error {
	o.Remove, o.ForceRemove, o.Version = true, true, build.BuilderV1
	result, err := p.engine.ImageBuild(ctx, files, o)
	if err == nil {
		err = follow(result.Body, progress)
		result.Body.Close()
	} else {
		err = engineError(err, "build the image")
	}
	if ctx.Err() != nil {
		return fault.Wrap(ctx.Err(), fault.Canceled, "build the image")
	}
	return err
}

// imageID returns the id of an image, which is fetched if it is not there, or with
// refresh.
func (p *Provider) imageID(ctx context.Context, name string, refresh bool) (string, error) {
	if refresh {
		if err := p.pull(ctx, name); err != nil {
			return "", err
		}
	}
	found, err := p.engine.ImageInspect(ctx, name)
	if err = engineError(err, "look for the image "+name); fault.Is(err, fault.NotFound) {
		if err := p.pull(ctx, name); err != nil {
			return "", err
		}
		found, err = p.engine.ImageInspect(ctx, name)
		err = engineError(err, "look for the image "+name)
	}
	return found.ID, err
}

const (
	lastLines        = 10   // of a step that fails, in its error
	maxLogLine       = 1000 // bytes; the rest of a longer one is left out
	stepPrefix       = "Step "
	podmanStepPrefix = "STEP "
	unknownStep      = "its start"
	maxShown         = 200 // bytes of a step or a message, which repeats its command, in the error
)

// colours are with which the engine marks the standard error of a step.
var colours = strings.NewReplacer("\x1b[91m", "", "\x1b[0m", "")

// follow reads the log of a build and passes its lines on.
func follow(body io.Reader, progress func(line string)) error {
	step, tail, part := unknownStep, []string(nil), ""
	line := func(text string) {
		text = strings.TrimRight(colours.Replace(text[:min(len(text), maxLogLine)]), "\r")
		switch {
		case strings.HasPrefix(text, stepPrefix), strings.HasPrefix(text, podmanStepPrefix):
			step, tail = text, nil
		case strings.HasPrefix(text, " ---> "), strings.HasPrefix(text, "--> "), strings.HasPrefix(text, "Removing intermediate container"): // the engine's
		case strings.TrimSpace(text) != "":
			if tail = append(tail, text); len(tail) > lastLines {
				tail = tail[1:]
			}
		}
		progress(text)
	}
	for messages := json.NewDecoder(body); ; {
		var m jsonstream.Message
		switch err := messages.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fault.Wrap(err, fault.Unavailable, "the engine's log of the build was cut off")
		case m.Error != nil:
			return buildError(step, tail, m.Error.Message)
		}
		part += m.Stream
		for {
			text, rest, whole := strings.Cut(part, "\n")
			if !whole && len(part) <= maxLogLine {
				break
			}
			line(text)
			part = rest
		}
	}
}

// buildError names the failed step, and its last output.
func buildError(step string, tail []string, message string) error {
	err := fault.New(fault.Invalid, fmt.Sprintf("building the image failed at %s: %s", ends(step), ends(message)))
	if strings.Contains(message, "BuildKit") {
		err = err.Hint("this is the engine's classic builder: build the image with `docker build`, and name it with --image")
	}
	if len(tail) > 0 {
		err = err.Because(errors.New("it printed last:\n" + strings.Join(tail, "\n")))
	}
	return err
}

// ends is the beginning and the end of a long text.
func ends(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown/2], "") + " … " + strings.ToValidUTF8(text[len(text)-maxShown/2:], "")
}
