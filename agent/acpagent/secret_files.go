package acpagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/deft-dev/deft/tool"
)

// seed makes a directory for each file with a secret, writes it, and then becomes the program. Its
// arguments are the directory of all; for each file its directory there, its name, the variable that
// has the content, the variable that is to name the file, and dir or file; then --, further
// directories, another -- and the program.
const seed = `mask=$(umask)
umask 077
root=$1; shift
while [ "$1" != -- ]; do
	mkdir -p "$root/$1" || exit 1
	eval "content=\$$3"
	[ -s "$root/$1/$2" ] || printf %s "$content" >"$root/$1/$2" || exit 1
	unset "$3"
	if [ "$5" = dir ]; then export "$4=$root/$1"; else export "$4=$root/$1/$2"; fi
	shift 5
done
shift
while [ "$1" != -- ]; do
	mkdir -p "$root/$1" || exit 1
	shift
done
shift
umask "$mask"
exec "$@"`

// forget removes files, each of which is followed by the variable with its first content. One that
// the program has changed is kept: it may be a login that it has renewed.
const forget = `while [ $# -gt 0 ]; do
	eval "content=\$$2"
	[ ! -f "$1" ] || [ "$(cat -- "$1")" != "$(printf %s "$content")" ] || rm -f -- "$1" || exit 1
	shift 2
done`

// secretFiles are the files with secrets that a program was given.
type secretFiles struct {
	args []string // of the script that removes them
	env  map[string]string
}

func (f *secretFiles) add(file, content string) {
	variable := fmt.Sprintf("DEFT_ACP_FILE_%d", len(f.args))
	if f.env == nil {
		f.env = map[string]string{}
	}
	f.args, f.env[variable] = append(f.args, file, variable), content
}

// forgetting bounds the time that it takes to remove the files.
const forgetting = 10 * time.Second

// remove removes the files, in the place where the program was; the files of a program in a sandbox
// of its own have gone with that.
func (a *Agent) remove(f secretFiles) error {
	if len(f.args) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), forgetting)
	defer cancel()
	proc, err := a.cfg.Programs.StartProgram(ctx, tool.Program{
		Command: "sh", Args: slices.Concat([]string{"-c", forget, "sh"}, f.args), Dir: a.cfg.Workspace, Env: f.env,
	})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = proc.Close() })
	defer stop()
	_, err = io.Copy(io.Discard, proc) // until its end
	return errors.Join(err, proc.Close())
}

// withFiles has the start of a program write its secrets that are files, and make a directory of its
// own for its data if the settings want that. The secrets pass through variables of the start alone.
func (a *Agent) withFiles(ctx context.Context, p *tool.Program) (written secretFiles) {
	// Nobody else can know the name, so nobody has made the directory.
	root := "/tmp/acp-" + a.cfg.Conversation.Hex()
	secrets := a.cfg.Secrets(ctx)
	env := maps.Clone(p.Env)
	var files, dirs []string
	for i, f := range a.cfg.Fields.Files() {
		content := secrets[f.Secret]
		if content == "" || !plainName(f.Variable) {
			continue
		}
		variable := fmt.Sprintf("DEFT_ACP_FILE_%d", i)
		env[variable] = content
		files = append(files, f.Dir, f.File, variable, f.Variable, f.PointsTo)
		written.add(path.Join(root, f.Dir, f.File), content)
	}
	if known, ok := a.cfg.Fields.Known(); ok && a.cfg.Fields.IsolateDataDir && known.DataDir != "" {
		env[known.DataDir], dirs = path.Join(root, known.Key), []string{known.Key}
	}
	if len(files)+len(dirs) == 0 {
		return secretFiles{}
	}
	p.Env = env
	p.Args = slices.Concat([]string{"-c", seed, "sh", root}, files, []string{"--"}, dirs, []string{"--", p.Command}, p.Args)
	p.Command = "sh"
	return written
}

// plainName reports whether a text is the name of a variable.
func plainName(name string) bool {
	for i, r := range name {
		if !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return name != ""
}
