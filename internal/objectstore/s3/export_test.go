package s3

// OpenWith is Open with a change of the connections.
var OpenWith = open
