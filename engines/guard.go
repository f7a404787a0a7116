package engines

import (
	"context"
	"encoding/json"
	"slices"
)

// Guard says whether a call may be made: nil, or the error that refuses it,
// usually TOOL_DENIED. The arguments are as the tool would get them. It may ask a
// person. It is used by several goroutines at once.
type Guard interface {
	Permit(ctx context.Context, tool Tool, args json.RawMessage) error
}

// guards are those of a context. All of them must permit a call, so that what a
// call starts can only be bound more strictly than itself.
type guards struct {
	here  []Guard // permit a call that is made with the context
	below []Guard // join the others within that call
}

type guardsKey struct{}

func guardsOf(ctx context.Context) guards {
	held, _ := ctx.Value(guardsKey{}).(guards)
	return held
}

// GuardWithin returns a context for one call whose own permission is settled:
// every call that the tool makes in turn, at any depth, must pass the guard.
func GuardWithin(ctx context.Context, guard Guard) context.Context {
	held := guardsOf(ctx)
	held.below = append(slices.Clone(held.below), guard)
	return context.WithValue(ctx, guardsKey{}, held)
}

// InheritGuards returns ctx with the guards of the call that from belongs to, for
// work that goes on when the call is over.
func InheritGuards(ctx, from context.Context) context.Context {
	return context.WithValue(ctx, guardsKey{}, guardsOf(from))
}

// guarded asks the guards about a call and returns the context of what the tool
// does.
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
