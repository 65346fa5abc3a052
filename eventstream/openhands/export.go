package openhands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// Export writes a conversation as OpenHands keeps it into a new directory
// under parent, named by the conversation's id, and returns its path. The
// directory appears once it is complete. Conflict if it exists; Invalid if an
// event's id cannot be part of a file name that OpenHands reads.
//
// base_state.json comes from the import if there was one, with id, HEAD and status
// updated. Otherwise it describes an agent without tools and without a key, which
// OpenHands replaces by the one it is resumed with.
func Export(ctx context.Context, s eventstream.Stream, id event.ConversationID, parent string) (path string, err error) {
	info, err := s.Info(ctx, id)
	if err != nil {
		return "", fmt.Errorf("export conversation %s: %w", id, err)
	}
	if _, ok := event.ParseConversationID(string(id)); !ok {
		return "", fault.New(fault.Invalid, fmt.Sprintf("conversation id %q is not a UUID, which OpenHands needs", id))
	}
	path = filepath.Join(parent, id.Hex())
	if err := exportTo(ctx, s, info, parent, path); err != nil {
		return "", fmt.Errorf("export conversation %s: %w", id, err)
	}
	return path, nil
}

func exportTo(ctx context.Context, s eventstream.Stream, info eventstream.Info, parent, path string) (err error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fsError(err, "cannot make the directory")
	}
	if _, err := os.Lstat(path); err == nil {
		return fault.New(fault.Conflict, path+" exists already")
	}
	tmp, err := os.MkdirTemp(parent, ".export-")
	if err != nil {
		return fsError(err, "cannot make the directory")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(tmp))
		}
	}()
	h, err := writeEvents(ctx, s, info.ID, filepath.Join(tmp, eventsDir))
	if err != nil {
		return err
	}
	state, meta, err := stateFiles(info, h, path)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(tmp, baseStateFile), state); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(tmp, metaFile), meta); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return fsError(err, "cannot rename the directory")
	}
	return nil
}

func writeFile(name string, b []byte) error {
	if err := os.WriteFile(name, b, 0o600); err != nil {
		return fsError(err, "cannot write "+filepath.Base(name))
	}
	return nil
}

// writeEvents writes the event files and returns HEAD.
func writeEvents(ctx context.Context, s eventstream.Stream, id event.ConversationID, dir string) (h head, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return h, fsError(err, "cannot make events/")
	}
	for r, err := range s.Read(ctx, id, 1) {
		if err != nil {
			return h, err
		}
		name := fmt.Sprintf("event-%05d-%s.json", r.Seq-1, r.ID)
		if !eventName().MatchString(name) {
			return h, fault.New(fault.Invalid, fmt.Sprintf("event %d has the id %q, which OpenHands does not read", r.Seq, r.ID)).
				Hint("export it as a trajectory instead")
		}
		if err := writeFile(filepath.Join(dir, name), r.JSON); err != nil {
			return h, err
		}
		ev, err := r.Event()
		if err != nil {
			return h, err
		}
		h.apply(ev)
	}
	return h, nil
}

// stateFiles makes base_state.json and meta.json.
func stateFiles(info eventstream.Info, h head, path string) (state, meta []byte, err error) {
	var from extra
	if len(info.Meta.Extra) > 0 {
		// If Extra does not come from an import, nothing is restored.
		_ = json.Unmarshal(info.Meta.Extra, &from)
	}
	if from.OpenHands == nil {
		from.OpenHands = &origin{}
	}
	fields := map[string]any{
		"id":              info.ID,
		"head_is_empty":   h.leaf == "" && info.Events > 0,
		leafKey:           nil,
		"workspace":       map[string]any{"working_dir": info.Meta.WorkingDir, "kind": "LocalWorkspace"},
		"persistence_dir": path,
	}
	if h.leaf != "" {
		fields[leafKey] = h.leaf
	}
	if info.Status != "" {
		fields[statusKey] = info.Status
	}
	if len(from.OpenHands.BaseState) == 0 {
		fields["agent"] = json.RawMessage(`{"llm":{"model":"unknown","usage_id":"agent"},"tools":[],"kind":"Agent"}`)
		if info.Meta.Tags != nil {
			fields["tags"] = info.Meta.Tags
		}
	} else if info.Meta.WorkingDir == "" {
		delete(fields, "workspace")
	}
	if state, err = merge(from.OpenHands.BaseState, fields); err != nil {
		return nil, nil, err
	}
	const layout = "2006-01-02T15:04:05.000000Z"
	meta, err = merge(from.OpenHands.Meta, map[string]any{
		"id": info.ID, "title": info.Meta.Title,
		"created_at": info.Created.UTC().Format(layout), "updated_at": info.Updated.UTC().Format(layout),
	})
	return state, meta, err
}

// merge sets fields of a JSON object; a nil value removes the field.
func merge(raw json.RawMessage, fields map[string]any) ([]byte, error) {
	all := map[string]json.RawMessage{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &all); err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "decode the state that was imported")
		}
	}
	for k, v := range fields {
		if v == nil || v == "" {
			delete(all, k)
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", strconv.Quote(k), err)
		}
		all[k] = b
	}
	return json.Marshal(all)
}
