package wirellm

// WithoutEffect is withoutEffect, for tests.
var WithoutEffect = withoutEffect
