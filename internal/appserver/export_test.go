package appserver

// WithModel is tested without a server.
var WithModel = withModel
