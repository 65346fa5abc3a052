package appserver

// WithModel is tested without a server.
var WithModel = withModel

// AddTokens is tested without a server.
var AddTokens = addTokens
