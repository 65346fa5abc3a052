package openhands

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
)

// Import reads the OpenHands conversation in dir into the stream, under its
// own id, for an owner. It fails with Conflict if the stream has that conversation, and
// with Invalid if dir does not hold one, an id occurs twice, or parents form
// a cycle. Unreadable files are left out and reported; secrets that are
// redacted stay so.
//
// HEAD is kept: if base_state.json does not have it at the last event, an
// update of leaf_event_id is appended.
func Import(ctx context.Context, dir string, s eventstream.Stream, owner string) (Report, error) {
	rep, err := importDir(ctx, dir, s, owner)
	if err != nil {
		return Report{}, fmt.Errorf("import conversation from %s: %w", dir, err)
	}
	return rep, nil
}

func importDir(ctx context.Context, dir string, s eventstream.Stream, owner string) (Report, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Report{}, fsError(err, "cannot open the directory")
	}
	defer root.Close()
	im := &importer{root: root}
	state, meta, err := im.describe(filepath.Base(filepath.Clean(dir)))
	if err != nil {
		return Report{}, err
	}
	files, err := im.list()
	if err != nil {
		return Report{}, err
	}
	meta.Owner = owner
	im.rep.ID = state.id
	im.rep.Events, err = importInto(ctx, s, state.id, meta, func(in *appender) error {
		for _, f := range files {
			if err := im.take(ctx, in, f, files); err != nil {
				return err
			}
		}
		return im.moveHead(ctx, in, state)
	})
	return im.rep, err
}

// Conversations returns the directories of conversations that path names: itself, or,
// where it is a directory without a conversation of its own, the directories in it
// that hold one, as Export makes them; path itself if there are none, so that Import
// reports the missing files. A path that is no directory has none.
func Conversations(path string) ([]string, error) {
	if st, err := os.Stat(path); err != nil {
		return nil, fsError(err, "cannot open "+path)
	} else if !st.IsDir() {
		return nil, nil
	}
	if isConversation(path) {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fsError(err, "look for conversations in "+path)
	}
	var inside []string
	for _, e := range entries {
		if dir := filepath.Join(path, e.Name()); e.IsDir() && isConversation(dir) {
			inside = append(inside, dir)
		}
	}
	if len(inside) == 0 {
		return []string{path}, nil
	}
	return inside, nil
}

func isConversation(dir string) bool {
	for _, name := range []string{"base_state.json", "events"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

type importer struct {
	root *os.Root
	rep  Report
}

func (im *importer) problem(file, format string, args ...any) {
	im.rep.Problems = append(im.rep.Problems, Problem{File: file, Why: fmt.Sprintf(format, args...)})
}

// read returns a file of the directory. Links are followed within it only.
func (im *importer) read(name string) ([]byte, error) {
	f, err := im.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("it is larger than %d MB", maxFile>>20)
	}
	return textfile.Decode(b), err
}

// baseState is the part of base_state.json that an import uses.
type baseState struct {
	id          event.ConversationID
	present     bool
	Leaf        *event.ID         `json:"leaf_event_id"`
	HeadIsEmpty bool              `json:"head_is_empty"`
	Tags        map[string]string `json:"tags"`
	Workspace   struct {
		WorkingDir string `json:"working_dir"`
	} `json:"workspace"`
	ID string `json:"id"`
}

// describe reads the files beside the events. The id comes from base_state.json,
// from meta.json, or from the directory's name.
func (im *importer) describe(dirName string) (baseState, eventstream.Meta, error) {
	var st baseState
	var stored struct {
		ID     string `json:"id"`
		Title  string `json:"title"`
		Parent string `json:"parent_conversation_id"`
		ForkOf string `json:"forked_from_conversation_id"`
	}
	o := origin{BaseState: im.object(baseStateFile, &st, true), Meta: im.object(metaFile, &stored, false)}
	st.present = o.BaseState != nil
	for _, name := range []string{st.ID, stored.ID, dirName} {
		if id, ok := event.ParseConversationID(name); ok {
			st.id = id
			break
		}
	}
	if st.id == "" {
		return st, eventstream.Meta{}, fault.New(fault.Invalid, "the directory holds no OpenHands conversation").
			Hint("name a directory with base_state.json and events/")
	}
	meta := eventstream.Meta{Title: stored.Title, Tags: st.Tags, WorkingDir: st.Workspace.WorkingDir}
	meta.Parent, _ = event.ParseConversationID(stored.Parent)
	meta.ForkOf, _ = event.ParseConversationID(stored.ForkOf)
	if o.BaseState != nil || o.Meta != nil {
		raw, err := json.Marshal(extra{OpenHands: &o})
		if err != nil {
			return st, meta, err
		}
		meta.Extra = raw
	}
	return st, meta, nil
}

// object reads a file that holds a JSON object. It returns nil and reports a
// problem if that fails; a missing file is a problem only if it is needed.
func (im *importer) object(name string, into any, needed bool) json.RawMessage {
	raw, err := im.read(name)
	if errors.Is(err, os.ErrNotExist) && !needed {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		im.problem(name, "it cannot be read: %v", err)
		return nil
	}
	return raw
}

// eventFile is the parsed name of a file in events/.
type eventFile struct {
	name  string
	index int
	id    event.ID
}

// list returns the event files in order.
func (im *importer) list() ([]eventFile, error) {
	d, err := im.root.Open(eventsDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // a conversation without events
	}
	if err != nil {
		return nil, fsError(err, "cannot read events/")
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, fsError(err, "cannot read events/")
	}
	var files []eventFile
	for _, e := range entries {
		m := eventName().FindStringSubmatch(e.Name())
		if m == nil {
			if e.Name()[0] != '.' {
				im.problem(e.Name(), "its name is not an event file's")
			}
			continue
		}
		index, err := strconv.Atoi(m[1])
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "event file "+e.Name())
		}
		files = append(files, eventFile{e.Name(), index, event.ID(m[2])})
	}
	slices.SortFunc(files, func(a, b eventFile) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.name, b.name))
	})
	for i, f := range files {
		if want := i; f.index != want && (i == 0 || files[i-1].index+1 != f.index) {
			im.problem(f.name, "there is a gap or a double number before it")
		}
	}
	return files, nil
}

// take imports one event file. An unreadable file is reported; an inconsistent
// conversation is an error.
func (im *importer) take(ctx context.Context, in *appender, f eventFile, all []eventFile) error {
	raw, err := im.read(eventsDir + "/" + f.name)
	if err != nil {
		im.problem(f.name, "it was left out: %v", err)
		return nil
	}
	r, ev, err := parse(raw)
	if err != nil {
		im.problem(f.name, "it was left out: %v", err)
		return nil
	}
	if r.ID != f.id {
		im.problem(f.name, "its event has another id, %s", r.ID)
	}
	if !in.hasParent(r) {
		if slices.ContainsFunc(all, func(o eventFile) bool { return o.id == r.ParentID && o.index >= f.index }) {
			return fault.New(fault.Invalid, fmt.Sprintf("the parent of event %s is %s, which comes after it", r.ID, r.ParentID))
		}
		// Its parent was left out above, or never existed: the branch goes on
		// from the event before.
		im.problem(f.name, "its parent %s is missing; its parent is %q instead", r.ParentID, in.head.leaf)
		ev.Meta().ParentID = cmp.Or(in.head.leaf, event.Root)
		if r, err = withParent(raw, ev); err != nil {
			return err
		}
	}
	return in.add(ctx, r, ev)
}

// withParent replaces the parent in an event's JSON.
func withParent(raw json.RawMessage, ev event.Event) (eventstream.Record, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return eventstream.Record{}, fault.Wrap(err, fault.Invalid, "decode event")
	}
	parent, err := json.Marshal(ev.Meta().ParentID)
	if err != nil {
		return eventstream.Record{}, err
	}
	fields["parent_id"] = parent
	if raw, err = json.Marshal(fields); err != nil {
		return eventstream.Record{}, err
	}
	r, _, err := parse(raw)
	return r, err
}

// moveHead appends an update of HEAD if base_state.json has another one than
// the events.
func (im *importer) moveHead(ctx context.Context, in *appender, st baseState) error {
	if !st.present || (st.Leaf == nil && !st.HeadIsEmpty) {
		return nil // written before OpenHands had a HEAD: it is the last event
	}
	want := event.ID("")
	if !st.HeadIsEmpty {
		want = *st.Leaf
	}
	if want == in.head.leaf {
		return nil
	}
	if want != "" && !in.seen[want] {
		im.problem(baseStateFile, "its leaf_event_id %s is not among the events; the last event is used", want)
		return nil
	}
	up, err := event.NewStateUpdate(leafKey, nil)
	if want != "" {
		up, err = event.NewStateUpdate(leafKey, want)
	}
	if err != nil {
		return err
	}
	if err := in.flush(ctx); err != nil {
		return err
	}
	_, err = in.s.Append(ctx, in.id, up)
	return err
}

func fsError(err error, what string) error {
	kind := fault.Unavailable
	switch {
	case errors.Is(err, os.ErrNotExist):
		kind = fault.NotFound
	case errors.Is(err, os.ErrPermission):
		kind = fault.Denied
	case errors.Is(err, os.ErrExist):
		kind = fault.Conflict
	}
	return fault.Wrap(err, kind, what)
}
