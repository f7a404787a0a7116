package engines

import (
	"context"
	"encoding/json"
)

// Guard decides whether a call may be made: nil, or the error that refuses it, usually
// TOOL_DENIED. It gets the arguments as the tool would. It may ask a person. It is
// called concurrently.
type Guard interface {
	Permit(ctx context.Context, tool Tool, args json.RawMessage) error
}
