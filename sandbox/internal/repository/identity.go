package repository

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode"

	"github.com/deft-dev/deft/internal/gitlimit"
	"github.com/deft-dev/deft/internal/spawn"
)

// identityTime is how long git may take to say who the user is.
const identityTime = 2 * time.Second

// Identity returns a section of a configuration with the name and the address of [User].
func Identity(home, workspace string) []byte {
	section := []byte("[user]\n")
	name, email, ok := User(home, workspace)
	if !ok {
		return nil
	}
	for _, set := range [][2]string{{"name", name}, {"email", email}} {
		if set[1] != "" {
			value := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(set[1])
			section = append(section, "\t"+set[0]+" = \""+value+"\"\n"...)
		}
	}
	return section
}

// User returns the name and the address that git would give to a commit in the workspace,
// by the user's configuration with everything that it includes; "" for unset values. Git
// is asked, since conditions depend on the repository. Nothing else is taken over:
// commands may be able to write an included file that lies in the workspace.
func User(home, workspace string) (name, email string, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), identityTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "config", "--global", "--includes", "-z", "--get-regexp", `^user\.(name|email)$`)
	cmd.Dir = workspace
	cmd.Env = append(gitlimit.Environ(), "PATH="+os.Getenv("PATH"), "HOME="+home, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := (spawn.Bounds{Memory: gitlimit.Memory}).Run(cmd); err != nil {
		return "", "", false // there is no git, or no name
	}
	for field := range strings.SplitSeq(out.String(), "\x00") {
		key, value, _ := strings.Cut(field, "\n")
		if strings.ContainsFunc(value, unicode.IsControl) {
			continue
		}
		switch key { // the last one counts
		case "user.name":
			name = value
		case "user.email":
			email = value
		}
	}
	return name, email, true
}
