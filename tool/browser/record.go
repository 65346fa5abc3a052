package browser

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// rrweb is the recorder of @rrweb/record, see rrweb-record.LICENSE.
//
//go:embed rrweb-record.js.gz
var rrweb []byte

// recordingDir is the directory of the workspace that has the recordings, as in the reference.
const recordingDir = ".agent_tmp/browser_observations"

// The limits of a recording, in bytes.
const (
	maxEvent     = 8 << 20
	maxFile      = 1 << 20 // when a file is written, as in the reference
	maxRecording = 100 << 20
)

// world is the world of the recorder in pages, out of reach of their own code.
const world = "deft-recorder"

// recording is a recording under way. It is guarded by the mutex of the pages.
type recording struct {
	dir     string // below the workspace
	events  []json.RawMessage
	size    int // of the events
	total   int // of the recording
	count   int
	files   int
	full    bool
	scripts map[*tab]page.ScriptIdentifier // of the tabs that were open
}

// startRecording begins to record all tabs.
func (b *chromium) startRecording(ctx context.Context) (answer, error) {
	b.mu.Lock()
	on, tabs := b.recording != nil, slices.Clone(b.tabs)
	b.mu.Unlock()
	if on {
		return answer{text: "Already recording"}, nil
	}
	script, err := recorder()
	if err != nil {
		return answer{}, err
	}
	dir := path.Join(recordingDir, "recording-"+time.Now().UTC().Format("20060102-150405.000000"))
	if err := b.inWorkspace(func(root *os.Root) error { return root.MkdirAll(dir, 0o755) }); err != nil {
		return answer{}, refusal("The recording cannot be kept: " + err.Error())
	}
	b.mu.Lock()
	b.recording = &recording{dir: dir, scripts: map[*tab]page.ScriptIdentifier{}}
	b.script = script
	b.mu.Unlock()
	for _, t := range tabs {
		r, err := ask(ctx, b, t, page.AddScriptToEvaluateOnNewDocument, b.record(t))
		if err != nil {
			return answer{}, err
		}
		b.mu.Lock()
		b.recording.scripts[t] = r.Identifier
		b.mu.Unlock()
	}
	return answer{text: "Recording started"}, nil
}

// recorder is the code that records a page.
func recorder() (string, error) {
	z, err := gzip.NewReader(bytes.NewReader(rrweb))
	if err != nil {
		return "", err
	}
	code, err := io.ReadAll(z)
	if err != nil {
		return "", err
	}
	// A frame of a page is in the recording of the page.
	return "if (window === window.top) {" + string(code) + ";\nrrwebRecord.record({emit: e => " + binding + "(JSON.stringify(e)), recordCrossOriginIframes: false})}", nil
}

const binding = "deftRecorded"

// record has a tab's events come here, and returns the command that records it from now on.
func (b *chromium) record(t *tab) page.AddScriptToEvaluateOnNewDocumentParams {
	send(b, t, runtime.Enable, cdp.Empty{}) // else Chromium does not tell of calls of the binding
	send(b, t, runtime.AddBinding, runtime.AddBindingParams{Name: binding, ExecutionContextName: world})
	yes := true
	return page.AddScriptToEvaluateOnNewDocumentParams{Source: b.script, WorldName: world, RunImmediately: &yes}
}

// recorded takes an event of a recorded page. The caller holds the mutex.
func (p *pages) recorded(payload string) {
	r := p.recording
	switch {
	case r == nil || r.full:
	case r.total+len(payload) > maxRecording:
		r.full = true
		p.tell("The recording is full: it has %d MB. browser_stop_recording ends it.", maxRecording>>20)
	case len(payload) <= maxEvent && json.Valid([]byte(payload)):
		r.events = append(r.events, json.RawMessage(payload))
		r.size += len(payload)
		r.total += len(payload)
		r.count++
	}
}

// flush writes the events so far, if they are many or all is set.
func (b *chromium) flush(all bool) error {
	b.mu.Lock()
	r := b.recording
	if r == nil || len(r.events) == 0 || r.size < maxFile && !all {
		b.mu.Unlock()
		return nil
	}
	events := r.events
	r.events, r.size = nil, 0
	r.files++
	file := path.Join(r.dir, fmt.Sprintf("%d.json", r.files))
	b.mu.Unlock()
	raw, err := json.Marshal(events)
	if err != nil {
		return err
	}
	return b.inWorkspace(func(root *os.Root) error { return root.WriteFile(file, raw, 0o644) })
}

// inWorkspace works on files of the workspace, whatever links are in it.
func (b *chromium) inWorkspace(do func(*os.Root) error) error {
	root, err := os.OpenRoot(b.c.Dir)
	if err != nil {
		return err
	}
	return errors.Join(do(root), root.Close())
}

// stopRecording ends the recording and writes the rest.
func (b *chromium) stopRecording(ctx context.Context) (answer, error) {
	b.mu.Lock()
	r := b.recording
	b.mu.Unlock()
	if r == nil {
		return answer{}, refusal("Not recording. Call browser_start_recording first.")
	}
	b.mu.Lock()
	tabs := slices.Clone(b.tabs)
	b.mu.Unlock()
	for _, t := range tabs { // the answers come after the last events
		if id, ok := r.scripts[t]; ok {
			if _, err := ask(ctx, b, t, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams{Identifier: id}); err != nil && !refused(err) {
				return answer{}, err
			}
		}
		send(b, t, runtime.RemoveBinding, runtime.RemoveBindingParams{Name: binding})
		send(b, t, runtime.Disable, cdp.Empty{})
	}
	if err := b.flush(true); err != nil {
		return answer{}, refusal("The recording cannot be kept: " + err.Error())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.recording = nil
	return answer{text: fmt.Sprintf("Recording stopped. Captured %d events in %d file(s). Saved to: %s", r.count, r.files, filepath.Join(b.c.Dir, r.dir))}, nil
}
