package guide

import (
	"context"

	"savant/engines"
	"savant/think"
	"savant/think/audit"
)

// callerOf returns who makes a call.
func callerOf(ctx context.Context) think.Caller {
	return think.Caller(engines.CallerFrom(ctx).Identity)
}

func explain(e *think.Engine) func(context.Context, think.ExplainInput) (any, error) {
	return func(ctx context.Context, in think.ExplainInput) (any, error) {
		in.Caller = callerOf(ctx)
		return e.ExplainAny(ctx, in)
	}
}

func reset(e *think.Engine) func(context.Context, think.ResetInput) (*think.ResetOutput, error) {
	return func(ctx context.Context, in think.ResetInput) (*think.ResetOutput, error) {
		in.Caller = callerOf(ctx)
		return e.Reset(ctx, in)
	}
}

func stateGet(e *think.Engine) func(context.Context, think.StateGetInput) (*think.StateGet, error) {
	return func(ctx context.Context, in think.StateGetInput) (*think.StateGet, error) {
		in.Caller = callerOf(ctx)
		return e.StateGet(ctx, in)
	}
}

func debug(e *think.Engine) func(context.Context, audit.DebugInput) (*audit.DebugOutput, error) {
	auditor := audit.New(e)
	return func(ctx context.Context, in audit.DebugInput) (*audit.DebugOutput, error) {
		in.Caller = callerOf(ctx)
		return auditor.Debug(ctx, in)
	}
}
