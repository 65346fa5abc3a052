package awscred

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

	"github.com/deft-dev/deft/fault"
)

// maxShared is the maximum size of a shared file: 1 MiB.
const maxShared = 1 << 20

// settings are the settings of one section.
type settings map[string]string

// shared has the settings of the shared files
// (https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html).
type shared struct {
	profiles, sessions map[string]settings
}

func profileName(env func(string) string) string {
	return cmp.Or(env("AWS_PROFILE"), env("AWS_DEFAULT_PROFILE"), "default")
}

// ProfileRegion is the region of the selected profile, or "".
func ProfileRegion(env func(string) string) string {
	s, err := readShared(env)
	if err != nil { // reported when credentials are looked up
		return ""
	}
	return CleanRegion(s.profiles[profileName(env)]["region"])
}

// CleanRegion returns a region that can be part of a host name, or "".
func CleanRegion(region string) string {
	region = strings.TrimSpace(region)
	if strings.Trim(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return ""
	}
	return region
}

// Domain is the domain of the services of a region.
func Domain(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

// awsDir is the directory of the AWS CLI's files.
func awsDir(env func(string) string) string { return filepath.Join(env("HOME"), ".aws") }

// readShared reads both files; the credentials file takes precedence.
func readShared(env func(string) string) (*shared, error) {
	s := &shared{profiles: map[string]settings{}, sessions: map[string]settings{}}
	config, err := readFile(cmp.Or(env("AWS_CONFIG_FILE"), filepath.Join(awsDir(env), "config")))
	if err != nil {
		return nil, err
	}
	keys, err := readFile(cmp.Or(env("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(awsDir(env), "credentials")))
	if err != nil {
		return nil, err
	}
	sections(config, func(name string) settings {
		kind, rest, _ := strings.Cut(name, " ")
		switch {
		case kind == "profile" && rest != "":
			return section(s.profiles, rest)
		case kind == "sso-session" && rest != "":
			return section(s.sessions, rest)
		case name == "default":
			return section(s.profiles, name)
		}
		return nil
	})
	sections(keys, func(name string) settings { return section(s.profiles, name) })
	if name := profileName(env); s.profiles[name] == nil && name != "default" {
		return nil, fault.New(fault.Auth, fmt.Sprintf("the AWS profile %q does not exist", name)).Hint("check AWS_PROFILE; `aws configure list-profiles` lists the profiles")
	}
	return s, nil
}

func section(of map[string]settings, name string) settings {
	if of[name] == nil {
		of[name] = settings{}
	}
	return of[name]
}

// readFile reads a shared file; a missing one is empty.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && info.Size() > maxShared {
		return nil, fault.New(fault.Auth, "the AWS file "+path+" is too large")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.Auth, "read the shared files of AWS")
	}
	return data, nil
}

// sections reads settings into the map that at returns for a section's name; it
// skips the section if that is nil, and indented settings.
func sections(data []byte, at func(string) settings) {
	var into settings
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxShared+1)
	for lines.Scan() {
		line := lines.Text()
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' {
			continue
		}
		if trimmed[0] == '[' {
			name, _, _ := strings.Cut(trimmed[1:], "]")
			into = at(unquoted(strings.Join(strings.Fields(name), " ")))
			continue
		}
		if into == nil || line[0] == ' ' || line[0] == '\t' {
			continue
		}
		key, value, ok := strings.Cut(trimmed, "=")
		if !ok {
			continue
		}
		if at := strings.Index(value, " #"); at >= 0 {
			value = value[:at]
		}
		into[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
	}
}

// unquoted removes the quotes of a name with spaces: profile "my own".
func unquoted(name string) string {
	kind, rest, ok := strings.Cut(name, " ")
	if ok && len(rest) > 1 && (rest[0] == '"' || rest[0] == '\'') && rest[len(rest)-1] == rest[0] {
		return kind + " " + rest[1:len(rest)-1]
	}
	return name
}
