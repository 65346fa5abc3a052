package docker

// EngineError is engineError, for errors that a test cannot have as root.
var EngineError = engineError

// MakesLoopback is makesLoopback.
var MakesLoopback = makesLoopback
