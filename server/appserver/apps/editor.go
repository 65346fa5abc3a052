package apps

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
)

// findEditor sets $e to the program of VS Code that a sandbox has, $d to where Deft keeps
// its log and port. The first two places belong to OpenHands' images.
const findEditor = `d="${TMPDIR:-/tmp}/.deft-editor-$(id -u)"
for e in "${OPENVSCODE_SERVER_ROOT:-/nowhere}/bin/openvscode-server" /openhands/.openvscode-server/bin/openvscode-server openvscode-server code-server; do
  command -v "$e" >/dev/null && break
  e=
done
`

// lookForEditor prints the name of the program, and the port of one that was started.
const lookForEditor = findEditor + `[ -n "$e" ] || exit 0
echo "${e##*/}"
[ ! -f "$d/port" ] || cat "$d/port"`

// startEditor starts it for the directory $0, and prints its port, which is in its first
// output. It has no password: only programs of the sandbox reach the port, and clients with
// its address. Like a server that the agent starts it goes on when Deft ends, as long as
// the sandbox is there.
const startEditor = findEditor + `[ -n "$e" ] || exit 1
mkdir -p -m 700 "$d" || exit 1
case "${e##*/}" in
code-server) set -- --bind-addr 127.0.0.1:0 --auth none --disable-telemetry --disable-update-check ;;
*) set -- --host 127.0.0.1 --port 0 --without-connection-token --telemetry-level off ;;
esac
rm -f "$d/port" "$d/said"
mkfifo "$d/said" && cd "$0" || exit 1
setsid "$e" "$@" >"$d/said" 2>&1 </dev/null &
exec 3<"$d/said" 4>"$d/log"
while IFS= read -r line <&3; do
  printf '%s\n' "$line" >&4
  port=$(printf '%s\n' "$line" | sed -n 's,.*http://[^ /]*:\([0-9]*\).*,\1,p')
  [ -n "$port" ] || continue
  setsid cat <&3 >&4 2>&4 &
  echo "$port" >"$d/port" && echo "$port"
  exit
done
tail -n 20 "$d/log" >&2
exit 1`

// editorSeconds is how long a start may take.
const editorSeconds = 120

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
	case e.name != "":
		out.Name = &e.name
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
	return e.name != "", e.port != 0, err
}

// editor is VS Code of a sandbox.
type editor struct {
	conversation *session.Conversation
	name         string // of the program, empty if the sandbox has none
	port         int    // 0: it does not run
}

// editorAddress is where browsers reach it, "" if nowhere.
func (s *Service) editorAddress(r *http.Request, info *conversations.Info, e editor) string {
	at := s.address(r, *info.In, info.Info.ID, e.port)
	if at == "" || e.port == 0 {
		return ""
	}
	return at + "?folder=" + url.QueryEscape(e.conversation.Workspace())
}

func (s *Service) startEditor(ctx context.Context, info *conversations.Info) (editor, error) {
	e, err := s.lookForEditor(ctx, info)
	if err != nil || e.port != 0 {
		return e, err
	}
	if e.name == "" {
		return e, fault.New(fault.NotFound, "the sandbox has no VS Code").Hint("use an image that has code-server or openvscode-server in its PATH")
	}
	got, err := e.run(ctx, startEditor)
	if err != nil {
		return e, err
	}
	if e.port, err = strconv.Atoi(strings.TrimSpace(got.Stdout)); err != nil || got.ExitCode != 0 {
		return e, fault.New(fault.Conflict, e.name+" did not start: "+strings.TrimSpace(got.Stderr))
	}
	return e, nil
}

func (s *Service) lookForEditor(ctx context.Context, info *conversations.Info) (e editor, err error) {
	if info.In == nil {
		return e, noSandbox
	}
	listening, err := s.ports(ctx, *info.In, info.Info.ID)
	if err != nil {
		return e, err
	}
	if e.conversation, err = s.conversation(ctx, *info.In, info.Info.ID); err != nil {
		return e, err
	}
	got, err := e.run(ctx, lookForEditor)
	if err != nil {
		return e, err
	}
	name, rest, _ := strings.Cut(strings.TrimSpace(got.Stdout), "\n")
	e.name = name
	// It may have ended since.
	if port, err := strconv.Atoi(rest); err == nil && slices.ContainsFunc(listening, func(p Port) bool { return p.Port == port }) {
		e.port = port
	}
	return e, nil
}

func (e editor) run(ctx context.Context, script string) (session.ProgramResult, error) {
	dir := e.conversation.Workspace()
	return e.conversation.RunProgram(ctx, session.Program{Argv: []string{"sh", "-c", script, dir}, Dir: dir, Seconds: editorSeconds})
}
