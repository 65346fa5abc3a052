package protocol

// PortUpgrade is the protocol of a connection to a program that listens in the sandbox.
const PortUpgrade = "deft-port"

// Ports are the TCP ports on which programs in the sandbox listen.
type Ports struct {
	Ports []Port `json:"ports"`
}

// Port is one of them.
type Port struct {
	Port int `json:"port"`
	// Address is the IP address on which the program listens.
	Address string `json:"address"`
}
