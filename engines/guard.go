package engines

import (
	"context"
	"encoding/json"
	"slices"
)

// Guard decides whether a call may be made: nil, or the error that refuses it, usually
// TOOL_DENIED. It gets the arguments as the tool would. It may ask a person. It is
// called concurrently.
type Guard interface {
	Permit(ctx context.Context, tool Tool, args json.RawMessage) error
}

// guards are the guards of a context. All of them must permit a call, so that nested
// calls can only be restricted further.
type guards struct {
	here  []Guard // decide about a call made with the context
	below []Guard // also decide about the calls nested in that call
}

type guardsKey struct{}

func guardsOf(ctx context.Context) guards {
	held, _ := ctx.Value(guardsKey{}).(guards)
	return held
}

// GuardWithin returns a context for a call that is already permitted: the guard decides
// about every call that its tool makes, at any depth.
func GuardWithin(ctx context.Context, guard Guard) context.Context {
	held := guardsOf(ctx)
	held.below = append(slices.Clone(held.below), guard)
	return context.WithValue(ctx, guardsKey{}, held)
}

// InheritGuards returns ctx with the guards of from, for work that outlives the call of
// from.
func InheritGuards(ctx, from context.Context) context.Context {
	return context.WithValue(ctx, guardsKey{}, guardsOf(from))
}

// guarded asks the guards about a call and returns the context for its tool.
func guarded(ctx context.Context, tool Tool, args json.RawMessage) (context.Context, error) {
	held := guardsOf(ctx)
	for _, each := range held.here {
		if err := each.Permit(ctx, tool, args); err != nil {
			return ctx, err
		}
	}
	if len(held.below) == 0 {
		return ctx, nil
	}
	return context.WithValue(ctx, guardsKey{}, guards{here: slices.Concat(held.here, held.below)}), nil
}
