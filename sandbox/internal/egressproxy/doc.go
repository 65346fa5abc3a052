// Package egressproxy runs the proxy of package egress as a process beside a
// sandbox: the only one by which the sandbox reaches the network.
//
// The sandbox's first stage makes listeners on its own loopback interface (package
// egresslisten) and sends them through a UNIX socket; the process accepts connections on
// them outside (Serve) and ends with the sandbox. Start starts it. A binary whose
// first argument is egresslisten.ProxyArg must call Serve, after it has given up its rights as far as
// it can. Where a sandbox has a kernel of its own, a relay inside (Relay) passes
// connections on to a UNIX socket of the proxy.
//
// Functions are safe for concurrent use. A proxy that gets no listeners ends.
package egressproxy
