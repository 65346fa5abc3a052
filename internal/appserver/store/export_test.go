package store

// Version is that of the tables.
const Version = version
