package ports

import (
	"context"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
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

// Editor is VS Code of a sandbox.
type Editor struct {
	Name string // of the program, empty if the sandbox has none
	Port int    // 0: it does not run
}

// LookForEditor returns VS Code of a conversation's sandbox, to which link connects.
func LookForEditor(ctx context.Context, c *session.Conversation, link Link) (e Editor, err error) {
	got, err := runEditor(ctx, c, lookForEditor)
	if err != nil {
		return e, err
	}
	name, rest, _ := strings.Cut(strings.TrimSpace(got.Stdout), "\n")
	e.Name = name
	if port, err := strconv.Atoi(rest); err == nil {
		conn, ended := link.Dial(ctx, port)
		if ended != nil {
			return e, ctx.Err()
		}
		e.Port = port
		return e, conn.Close()
	}
	return e, nil
}

// StartEditor starts VS Code in a conversation's sandbox, unless it runs. NotFound if there is
// none, Conflict if it ends at once.
func StartEditor(ctx context.Context, c *session.Conversation, link Link) (Editor, error) {
	e, err := LookForEditor(ctx, c, link)
	if err != nil || e.Port != 0 {
		return e, err
	}
	if e.Name == "" {
		return e, fault.New(fault.NotFound, "the sandbox has no VS Code").Hint("use an image that has code-server or openvscode-server in its PATH")
	}
	got, err := runEditor(ctx, c, startEditor)
	if err != nil {
		return e, err
	}
	if e.Port, err = strconv.Atoi(strings.TrimSpace(got.Stdout)); err != nil || got.ExitCode != 0 {
		return e, fault.New(fault.Conflict, e.Name+" did not start: "+strings.TrimSpace(got.Stderr))
	}
	return e, nil
}

func runEditor(ctx context.Context, c *session.Conversation, script string) (session.ProgramResult, error) {
	dir := c.Workspace()
	return c.Environment().RunProgram(ctx, session.Program{Argv: []string{"sh", "-c", script, dir}, Dir: dir, Seconds: editorSeconds})
}
