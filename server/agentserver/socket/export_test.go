package socket

// For the fuzz tests.
var (
	ParseMessage = parseMessage
	Syntax       = syntax
	IsAuth       = isAuth
)
