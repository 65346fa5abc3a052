package broker

import "context"

type serviceKey struct{}

// WithService sets the service ("agent", "condenser" …) for which calls are
// made, so that hooks can distinguish services that share a model.
func WithService(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, serviceKey{}, name)
}

func serviceOf(ctx context.Context) string {
	name, _ := ctx.Value(serviceKey{}).(string)
	return name
}
