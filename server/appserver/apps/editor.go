package apps

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/ports"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
)

// shownEditor is VS Code of a sandbox.
type shownEditor struct {
	// Name is its program's; null if the sandbox has none.
	Name *string `json:"name"`
	// URL is where it is, null if it does not run.
	URL *string `json:"url"`
	// Detail says why there is nothing, if that is not for lack of the program.
	Detail *string `json:"detail"`
}

// editor says whether the sandbox has VS Code, and where it runs.
func (s *Service) editor(w http.ResponseWriter, r *http.Request) error {
	info, err := s.one(r)
	if err != nil {
		return err
	}
	var out shownEditor
	e, err := s.lookForEditor(r.Context(), info)
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Unsupported):
		why := err.Error()
		out.Detail = &why
	case err != nil:
		return err
	case e.Name != "":
		out.Name = &e.Name
		if at := s.editorAddress(r, info, e); at != "" {
			out.URL = &at
		}
	}
	return rest.JSON(w, http.StatusOK, out)
}

// openEditor starts VS Code, if it does not run, and says where it is.
func (s *Service) openEditor(w http.ResponseWriter, r *http.Request) error {
	info, err := s.one(r)
	if err != nil {
		return err
	}
	at, err := s.OpenEditor(r, info)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, map[string]string{"url": at})
}

// OpenEditor starts VS Code in the sandbox of a conversation, unless it runs, and returns
// where browsers reach it. NotFound if the sandbox has none or does not run, Unsupported where
// browsers would not reach it, Conflict if it ends at once.
func (s *Service) OpenEditor(r *http.Request, info *conversations.Info) (string, error) {
	if s.domain(r) == "" {
		return "", fault.New(fault.Unsupported, "browsers do not reach the ports of sandboxes").Hint(setDomain)
	}
	ctx := context.WithoutCancel(r.Context()) // a browser that leaves does not stop it for others
	started, err, _ := s.starts.Do(string(info.Info.ID), func() (any, error) { return s.startEditor(ctx, info) })
	if err != nil {
		return "", err
	}
	return s.editorAddress(r, info, started.(editor)), nil
}

// EditorState reports whether the sandbox of a conversation has VS Code, and whether it runs.
// It has the errors of OpenEditor.
func (s *Service) EditorState(ctx context.Context, info *conversations.Info) (has, runs bool, err error) {
	e, err := s.lookForEditor(ctx, info)
	return e.Name != "", e.Port != 0, err
}

// editor is VS Code of a sandbox.
type editor struct {
	ports.Editor
	conversation *session.Conversation
}

// editorAddress is where browsers reach it, "" if nowhere.
func (s *Service) editorAddress(r *http.Request, info *conversations.Info, e editor) string {
	at := s.address(r, *info.In, info.Info.ID, e.Port)
	if at == "" || e.Port == 0 {
		return ""
	}
	return at + "?folder=" + url.QueryEscape(e.conversation.Workspace())
}

func (s *Service) startEditor(ctx context.Context, info *conversations.Info) (editor, error) {
	return s.withEditor(ctx, info, ports.StartEditor)
}

func (s *Service) lookForEditor(ctx context.Context, info *conversations.Info) (e editor, err error) {
	return s.withEditor(ctx, info, ports.LookForEditor)
}

func (s *Service) withEditor(ctx context.Context, info *conversations.Info, do func(context.Context, *session.Conversation, ports.Link) (ports.Editor, error)) (e editor, err error) {
	if info.In == nil {
		return e, noSandbox
	}
	link, err := s.link(ctx, *info.In, info.Info.ID)
	if err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, link.Close()) }()
	if e.conversation, err = s.conversation(ctx, *info.In, info.Info.ID); err != nil {
		return e, err
	}
	e.Editor, err = do(ctx, e.conversation, link)
	return e, err
}
