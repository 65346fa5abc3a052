package process

import (
	"encoding/xml"
	"path/filepath"
	"slices"
	"strings"
)

// registryFiles returns the configurations of package managers in a home, which are
// hidden since they hold credentials, and the function that makes of one the part that is
// shown: which registries to use. Nothing else is shown.
func registryFiles(home string) map[string]func([]byte) ([]byte, error) {
	return map[string]func([]byte) ([]byte, error){
		filepath.Join(home, ".npmrc"): keepSettings(func(key string) bool {
			return key == "registry" || strings.HasPrefix(key, "@") && strings.HasSuffix(key, ":registry")
		}),
		filepath.Join(home, ".pip/pip.conf"):        keepSettings(isPipSetting),
		filepath.Join(home, ".config/pip/pip.conf"): keepSettings(isPipSetting),
		filepath.Join(home, ".config/go/env"): keepSettings(func(key string) bool {
			return slices.Contains([]string{"GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE", "GOTOOLCHAIN"}, key)
		}),
		filepath.Join(home, ".m2/settings.xml"): keepMirrors,
	}
}

func isPipSetting(key string) bool {
	return slices.Contains([]string{"index-url", "extra-index-url", "find-links", "trusted-host"}, strings.ReplaceAll(key, "_", "-"))
}

// keepSettings keeps lines such as "key = value" with these keys, with the headers of
// sections and the indented lines that go on with a value, but none that looks like a
// credential or takes a variable. Without any setting it keeps nothing.
func keepSettings(keep func(key string) bool) func([]byte) ([]byte, error) {
	return func(raw []byte) ([]byte, error) {
		var out strings.Builder
		kept, found := false, false
		for line := range strings.Lines(string(raw)) {
			line = strings.TrimRight(line, " \t\r\n")
			trimmed := strings.TrimLeft(line, " \t")
			switch {
			case trimmed == "" || strings.ContainsAny(trimmed[:1], "#;"):
				continue
			case trimmed[0] == '[':
				kept = false
				if !credential().MatchString(line) {
					out.WriteString(line + "\n")
				}
				continue
			case trimmed == line || !kept:
				key, _, _ := strings.Cut(trimmed, "=")
				kept = keep(strings.TrimSpace(key))
			}
			if kept && !holdsSecret(line) {
				found = true
				out.WriteString(line + "\n")
			}
		}
		if !found {
			return nil, nil
		}
		return []byte(out.String()), nil
	}
}

// holdsSecret reports whether a setting looks like a credential, takes a variable, or has
// an address with a part that looks like a token.
func holdsSecret(line string) bool {
	_, address, _ := strings.Cut(line, "://")
	return credential().MatchString(line) || strings.Contains(line, "${") ||
		slices.ContainsFunc(strings.Split(address, "/"), func(part string) bool {
			return len(part) >= minToken && !strings.ContainsAny(part, ".:") && strings.ContainsAny(part, "0123456789")
		})
}

// minToken is how long a token in an address is at least.
const minToken = 16

// mavenMirror is one of settings.xml, maven.apache.org/settings.html.
type mavenMirror struct {
	ID       string `xml:"id"`
	MirrorOf string `xml:"mirrorOf"`
	URL      string `xml:"url"`
}

// keepMirrors keeps the mirrors of Maven's settings.
func keepMirrors(raw []byte) ([]byte, error) {
	var doc struct {
		XMLName struct{}      `xml:"settings"`
		Mirrors []mavenMirror `xml:"mirrors>mirror"`
	}
	if err := xml.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	doc.Mirrors = slices.DeleteFunc(doc.Mirrors, func(m mavenMirror) bool {
		return holdsSecret(m.URL)
	})
	if len(doc.Mirrors) == 0 {
		return nil, nil
	}
	return xml.Marshal(doc)
}
