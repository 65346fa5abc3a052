package config

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
)

// previousKeys is the variable of [Config.PreviousSecretKeys].
const previousKeys = "OH_PREVIOUS_SECRET_KEYS"

// Keys returns the session keys as requests are compared with them.
func (c *Config) Keys() []string {
	keys := make([]string, 0, len(c.SessionAPIKeys))
	for _, k := range c.SessionAPIKeys {
		keys = append(keys, k.Reveal())
	}
	return keys
}

// InitKey returns the key of /api/init. Without one the route is open, unless a
// blank key was configured: then it is closed.
func (c *Config) InitKey() (key string, open bool) {
	return c.SecretKey.Reveal(), c.SecretKey == "" && !c.blankSecretKey
}

// Origin reports whether pages of an origin may use the server. The origin null,
// which any page can give a frame, never may.
func (c *Config) Origin(origin string) bool {
	if !strings.HasPrefix(origin, "http://") && !strings.HasPrefix(origin, "https://") {
		return false
	}
	if slices.Contains(c.AllowCORSOrigins, origin) || slices.Contains(c.AllowCORSOrigins, "*") {
		return true
	}
	if c.AllowCORSOriginRegex == nil {
		return false
	}
	re, err := regexp.Compile(`^(?:` + *c.AllowCORSOriginRegex + `)$`) // Load refused it otherwise
	return err == nil && re.MatchString(origin)
}

// Names reports whether a host, as browsers send it, names this machine or the
// configured address of the server.
func (c *Config) Names(host string) bool {
	u, err := url.Parse("http://" + host)
	if err != nil {
		return false
	}
	name := u.Hostname()
	if Private(name) || name != "" && name == os.Getenv("DOCKER_HOST_ADDR") {
		return true
	}
	own := slices.Clone(c.AllowCORSOrigins)
	if c.WebURL != nil {
		own = append(own, *c.WebURL)
	}
	return slices.ContainsFunc(own, func(address string) bool {
		u, err := url.Parse(address)
		return err == nil && name != "" && strings.EqualFold(u.Hostname(), name)
	})
}

// Ring returns the keys that seal stored secrets: the configured one, else a
// key that is kept in the persistence directory; see [keyring.Load]. Call it
// once; it may write the file.
func (l *Loaded) Ring() (*keyring.Ring, error) {
	previous := make([]string, 0, len(l.PreviousSecretKeys))
	for _, k := range l.PreviousSecretKeys {
		previous = append(previous, k.Reveal())
	}
	return keyring.Load(l.PersistenceDir, l.SecretKey.Reveal(), previous...)
}

// FirstSet returns the value of the first variable that has one; "" if none has.
func FirstSet(env func(string) string, names ...string) string {
	for _, name := range names {
		if v := env(name); v != "" {
			return v
		}
	}
	return ""
}

// OpenRing opens the keys that seal stored secrets for commands without a server's
// configuration: the key that the environment names, else the one in the persistence
// directory; without a home, the one in dir. The server's settings file is not read: it
// lies below the working directory, which may be a hostile project. tell shows the user a
// line.
func OpenRing(env func(string) string, dir string, tell func(string)) (*keyring.Ring, error) {
	configured := FirstSet(env, "OH_SECRET_KEY", "SESSION_API_KEY", "OH_SESSION_API_KEYS_0")
	previous, err := PreviousKeys(env)
	if err != nil {
		return nil, err
	}
	own, err := PersistenceDir(env)
	if fault.Is(err, fault.Invalid) { // there is no home
		return keyring.Load(dir, configured, previous...)
	}
	if err != nil {
		return nil, err
	}
	ring, err := keyring.Load(own, configured, previous...)
	if errors.Is(err, fs.ErrPermission) { // HOME is somebody else's, as under sudo
		tell("deft: note: " + err.Error() + "; going on with a key in " + dir)
		return keyring.Load(dir, configured, previous...)
	}
	return ring, err
}

// PreviousKeys returns the previous secret keys that variables name, for commands that
// read no settings file: OH_PREVIOUS_SECRET_KEYS with JSON, or OH_PREVIOUS_SECRET_KEYS_0 and
// so on, as [Load] reads them. env reads a variable. An error names the variable, not its
// value, and is of kind Invalid.
func PreviousKeys(env func(string) string) ([]string, error) {
	e := newEnvironment(nil)
	take := func(name string) bool {
		v := env(name)
		if v != "" {
			e.vars[name] = v
		}
		return v != ""
	}
	take(previousKeys)
	for i := range maxItems {
		if !take(previousKeys + "_" + strconv.Itoa(i)) {
			break
		}
	}
	tree, err := e.list(previousKeys, reflect.TypeFor[string]())
	if err != nil {
		return nil, err
	}
	all, _ := tree.([]any) // else there are none
	var out []string
	for _, v := range all {
		key, ok := v.(string)
		if !ok {
			return nil, fault.New(fault.Invalid, previousKeys+" must be a list of keys").
				Hint("set " + previousKeys + "_0 to the key")
		}
		out = append(out, key)
	}
	return out, nil
}
