// Package docker is a [sandbox.Provider] of containers of a Docker engine, or of
// one that speaks its API, such as Podman. Any image will do, without a build: the
// binary is mounted into it read-only and becomes process 1.
//
// # Usage
//
//	func main() { stage.MaybeInit(); … } // package sandbox/docker/stage
//
//	p, err := docker.New(docker.Options{Dir: dir, Image: "debian:12"})
//	s, err := p.Start(ctx, sandbox.Spec{ID: id, Argv: argv, Workspace: ws})
//
// # What a container is
//
// It has the image's files, the workspace and the granted directories, each at its own
// path, and no network interface but its own loopback, which the OCI runtime makes if it
// is known to do so, and else the engine: the hosts that Spec.Network grants are reached
// through a proxy outside, a process of the same binary (process.MaybeInit), which accepts
// connections on listeners that the first stage makes inside. Its program runs as the
// workspace's owner, without capabilities, under the engine's seccomp filter and
// no_new_privs. Whatever it is called outside, nothing of the conversation is in the
// container's configuration: variables come through a file that the first stage deletes,
// so "docker inspect" shows no secret.
//
// Beside the workspace there is one more mount, /.deft, with the binary and a
// directory that is empty as soon as the program runs: the first stage opens socket,
// journal and log in it, and the provider then moves the socket away.
//
// # Concurrency and failure
//
// A Provider is safe for concurrent use, and by several processes with the same
// Options.Dir. The engine's failures have the kinds that package sandbox lists:
// fault.Unavailable if the engine does not answer, fault.Invalid for an image that
// does not exist, fault.Denied if the user may not use the engine. A container that
// somebody removes by hand has ended, with CauseRemoved.
package docker
