package agent

import "context"

// Caller is the run that makes a call of a tool.
type Caller struct {
	RunID string
	Step  int
	// Tool is the tool that the run called. Tools that it calls in turn get the
	// same Caller.
	Tool string
}

type callerKey struct{}

// CallerFrom returns the run that makes a call, if one does.
func CallerFrom(ctx context.Context) (Caller, bool) {
	caller, ok := ctx.Value(callerKey{}).(Caller)
	return caller, ok
}

func withCaller(ctx context.Context, caller Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}
