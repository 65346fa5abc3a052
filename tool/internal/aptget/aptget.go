// Package aptget says to a model how the terminal installs a program that a tool needs.
//
// # Usage
//
//	text := aptget.Install("chromium-headless-shell", "notebook")
//
// # Concurrency and failure
//
// Its function is pure.
package aptget

import "fmt"

// options are those of apt-get in a container without capabilities: it cannot become another user there.
const options = "-o APT::Sandbox::User=root"

// Install says how to install a package of Debian, and else which image has it: one that is built with a flag of
// `deft sandbox image`, "" for none.
func Install(name, with string) string {
	if with != "" {
		with += " "
	}
	return fmt.Sprintf("Where the system can be changed, as in a container of Debian, the terminal installs it (with deft's flag --net=debian): "+
		"apt-get %[1]s update && apt-get %[1]s install -y --no-install-recommends %[2]s. Else ask the user to install it on this machine, or for an image that has it: "+
		"`deft sandbox image %[3]s--tag NAME` makes one, for --sandbox docker.", options, name, with)
}
