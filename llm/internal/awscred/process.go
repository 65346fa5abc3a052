package awscred

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm/internal/tokencache"
)

// Times of a credential_process.
const (
	processTime     = time.Minute      // it may take: a person may have to touch a key
	defaultValidity = 15 * time.Minute // of its keys, where it does not say
)

// keysDocument is the JSON of credentials, as a credential_process and the
// services of containers and instances write it
// (https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html).
type keysDocument struct {
	Version         int
	Code, Message   string // of services
	AccessKeyID     string `json:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string // of a process
	Token           string // of services
	Expiration      string
}

// credentials returns the credentials; ok is false if they are incomplete.
func (g *keysDocument) credentials(session string) (c Credentials, ok bool) {
	c = Credentials{ID: g.AccessKeyID, Secret: g.SecretAccessKey, Session: session}
	if g.Expiration == "" {
		return c, c.complete()
	}
	until, err := parseTime(g.Expiration)
	c.Expires = until
	return c, err == nil && c.complete()
}

// process runs the credential_process of a profile, without a shell.
func (s *search) process(ctx context.Context, name, command string) (Credentials, error) {
	args, err := split(command)
	if err != nil || len(args) == 0 {
		return Credentials{}, fault.New(fault.Invalid, fmt.Sprintf("the credential_process of the AWS profile %q is not a valid command: a quote is not closed", name))
	}
	limited, cancel := context.WithTimeout(ctx, processTime)
	defer cancel()
	out, said := bounded{most: 64 << 10}, bounded{most: 4 << 10}
	cmd := exec.CommandContext(limited, args[0], args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = processEnv(os.Environ()), &out, &said, time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		return Credentials{}, ctx.Err()
	}
	hint := "check that the command works: " + args[0]
	if err != nil {
		text := fmt.Sprintf("the credential_process of the AWS profile %q failed", name)
		if line := lastLine(said.kept.String()); line != "" {
			text += ": " + line
		}
		return Credentials{}, fault.New(fault.Auth, text).Because(err).Hint(hint)
	}
	var g keysDocument
	if json.Unmarshal(out.kept.Bytes(), &g) != nil || g.Version != 1 {
		return Credentials{}, fault.New(fault.Auth, fmt.Sprintf("the credential_process of the AWS profile %q printed no JSON of version 1", name)).Hint(hint)
	}
	c, ok := g.credentials(g.SessionToken)
	if !ok {
		return Credentials{}, fault.New(fault.Auth, fmt.Sprintf("the credential_process of the AWS profile %q printed no keys", name)).Hint(hint)
	}
	if c.Expires.IsZero() {
		c.Expires = s.now().Add(defaultValidity)
	}
	return c, nil
}

// processEnv is the environment without the keys of language models, which the
// program does not need.
func processEnv(environ []string) []string {
	var out []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "LLM_") && !strings.HasSuffix(name, "_API_KEY") {
			out = append(out, pair)
		}
	}
	return out
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return tokencache.Line(text[strings.LastIndexByte(text, '\n')+1:])
}

// bounded keeps the first bytes written.
type bounded struct {
	kept bytes.Buffer
	most int
}

// Write accepts everything, so that the program is not stopped by its output.
func (b *bounded) Write(p []byte) (int, error) {
	b.kept.Write(p[:min(len(p), b.most-b.kept.Len())]) // writing to a buffer cannot fail
	return len(p), nil
}

var errQuote = errors.New("a quote is not closed")

// split splits a command as a POSIX shell would without expansions.
func split(command string) ([]string, error) {
	var args []string
	var word strings.Builder
	inWord, escaped := false, false
	quote := rune(0)
	for _, r := range command {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\r' || r == '\n':
			if inWord {
				args = append(args, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, errQuote
	}
	if inWord {
		args = append(args, word.String())
	}
	return args, nil
}
