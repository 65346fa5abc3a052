package docker

// EngineError is engineError, for errors that a test cannot have as root.
var EngineError = engineError

// Explain is explain, for errors of storage that the engine of tests does not have.
var Explain = explain

// MakesLoopback is makesLoopback.
var MakesLoopback = makesLoopback
