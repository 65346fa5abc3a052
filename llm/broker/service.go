package broker

import "context"

type serviceKey struct{}

// WithService says in a context for which service ("agent", "condenser" …)
// calls are made, so that hooks can tell them apart where services share a
// model.
func WithService(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, serviceKey{}, name)
}

func serviceOf(ctx context.Context) string {
	name, _ := ctx.Value(serviceKey{}).(string)
	return name
}
