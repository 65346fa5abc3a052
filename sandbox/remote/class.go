package remote

import "github.com/deft-dev/deft/sandbox"

// API is where the sandboxes of a class run. Without an address they cannot be started.
type API struct {
	// URL is its address, Key this client's key for it, and KeyName the variable that
	// holds the key, for messages.
	URL, Key, KeyName string
}

// Class is runtimes of a Runtime API.
func Class(a API) sandbox.Class {
	return described.Made(func(o sandbox.Config) (sandbox.Provider, error) {
		return New(Options{
			Dir: o.Dir, Client: o.Installation, URL: a.URL, Key: a.Key, KeyName: a.KeyName, GitIdentity: o.GitIdentity,
		})
	})
}

// described is all of the class but its constructor, which refers to it.
var described = sandbox.Class{
	Name: "remote", Summary: "a runtime of a Runtime API for each conversation", Noun: "a sandbox of a Runtime API", By: "the Runtime API",
	Accepts: []sandbox.Feature{sandbox.FeatureImage, sandbox.FeatureBuild, sandbox.FeaturePorts},
	Why:     "the API's own settings decide on that",
	Inside:  "/workspace",
	Needs:   "a Runtime API",
	NoTrial: "the Runtime API decides on the isolation of its runtimes, and none is started to find out",
}
