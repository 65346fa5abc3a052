package spec

// WithoutEffect is withoutEffect, for tests.
var WithoutEffect = withoutEffect
