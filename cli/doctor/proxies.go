package doctor

import (
	"net/url"
	"strings"
)

// proxyVariables are read by most programs; the lower-case names go first.
var proxyVariables = []string{"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}

// checkProxies shows the variables that name proxies, without users and passwords.
func checkProxies(env func(string) string) Check {
	c := Check{Name: "proxies", State: OK, Text: "none set"}
	var list []string
	add := func(name, value string) {
		c.Items = append(c.Items, Item{Name: name, Value: value})
		list = append(list, name+"="+value)
	}
	for _, name := range proxyVariables {
		value := env(name)
		if value == "" {
			continue
		}
		address, ok := proxyAddress(value)
		if !ok {
			c.State, c.Next = Warning, "a proxy is given as http://host:port"
			address = notURL
		}
		add(name, address)
	}
	for _, name := range []string{"no_proxy", "NO_PROXY"} {
		if value := env(name); strings.Contains(value, "@") {
			c.State = Warning
			add(name, "set, but not a list of hosts")
		} else if value != "" {
			add(name, value)
		}
	}
	if len(list) > 0 {
		c.Text = strings.Join(list, ", ")
	}
	return c
}

// notURL stands for a value that may hold a password in any place.
const notURL = "set, but not a URL"

// proxyAddress returns the address of a proxy without its user and password. It is
// false for anything but an address with a host and nothing behind it: a password
// that is not encoded could be anywhere in it.
func proxyAddress(value string) (string, bool) {
	short := !strings.Contains(value, "://")
	if short { // most programs take this for http
		value = "http://" + value
	}
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return "", false
	case short:
		return u.Host, true
	}
	return u.Scheme + "://" + u.Host, true
}
