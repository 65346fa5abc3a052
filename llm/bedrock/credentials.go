package bedrock

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/internal/fault"
)

// credentials sign requests.
type credentials struct{ id, secret, session string }

// maxConfig bounds a shared file: 1 MiB.
const maxConfig = 1 << 20

// findCredentials looks where Amazon's own tools look first: in the
// environment, then in the shared files
// (https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html).
func findCredentials(env func(string) string) (credentials, error) {
	c := credentials{env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY"), env("AWS_SESSION_TOKEN")}
	if c.id != "" && c.secret != "" {
		return c, nil
	}
	p, err := readProfile(env)
	if err != nil {
		return credentials{}, err
	}
	c = credentials{p["aws_access_key_id"], p["aws_secret_access_key"], p["aws_session_token"]}
	if c.id != "" && c.secret != "" {
		return c, nil
	}
	for _, key := range []string{"sso_session", "sso_start_url", "credential_process", "role_arn", "web_identity_token_file"} {
		if p[key] != "" {
			return credentials{}, fault.New(fault.Unsupported, fmt.Sprintf("the AWS profile %q gets its keys by %s, which is not supported", profileName(env), key)).
				Hint("export keys with: aws configure export-credentials --format env")
		}
	}
	return credentials{}, fault.New(fault.Auth, "there are no AWS credentials").
		Hint("set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
}

func profileName(env func(string) string) string {
	return cmp.Or(env("AWS_PROFILE"), env("AWS_DEFAULT_PROFILE"), "default")
}

// profileRegion is the region of the profile, or "".
func profileRegion(env func(string) string) string {
	p, err := readProfile(env)
	if err != nil { // said when the keys are looked for
		return ""
	}
	return p["region"]
}

// readProfile returns the settings of the profile in both files; the
// credentials file wins.
func readProfile(env func(string) string) (map[string]string, error) {
	dir := filepath.Join(env("HOME"), ".aws")
	name := profileName(env)
	out := map[string]string{}
	found := false
	for _, f := range []struct{ path, section string }{
		{cmp.Or(env("AWS_CONFIG_FILE"), filepath.Join(dir, "config")), "profile " + name},
		{cmp.Or(env("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(dir, "credentials")), name},
	} {
		data, err := readShared(f.path)
		if err != nil {
			return nil, err
		}
		sections := []string{f.section}
		if name == "default" {
			sections = []string{"profile default", "default"}
		}
		for _, s := range sections {
			found = readSection(data, s, out) || found
		}
	}
	if !found && name != "default" {
		return nil, fault.New(fault.Auth, fmt.Sprintf("the AWS profile %q does not exist", name)).Hint("check AWS_PROFILE")
	}
	return out, nil
}

// readShared reads a shared file; one that is not there is empty.
func readShared(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && info.Size() > maxConfig {
		return nil, fault.New(fault.Auth, "the AWS file "+path+" is too large")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.Auth, "read the shared files of AWS")
	}
	return data, nil
}

// readSection adds the settings of a section to out and reports whether there
// is one. Settings inside settings, which are indented, are passed over.
func readSection(data []byte, section string, out map[string]string) bool {
	found, inside := false, false
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxConfig+1)
	for lines.Scan() {
		line := lines.Text()
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' {
			continue
		}
		if trimmed[0] == '[' {
			name, _, _ := strings.Cut(trimmed[1:], "]")
			inside = strings.Join(strings.Fields(name), " ") == section
			found = found || inside
			continue
		}
		if !inside || line[0] == ' ' || line[0] == '\t' {
			continue
		}
		key, value, ok := strings.Cut(trimmed, "=")
		if !ok {
			continue
		}
		if at := strings.Index(value, " #"); at >= 0 {
			value = value[:at]
		}
		out[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
	}
	return found
}
