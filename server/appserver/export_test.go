package appserver

// AddTokens is tested without a server.
var AddTokens = addTokens
