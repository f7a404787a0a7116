package mcpio

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// tellUnfit answers a request whose parameters are not what the protocol says in
// the protocol's terms: mcp-go says it in those of its own types, as a message
// that is none.
func tellUnfit(ctx context.Context, _ any, method mcp.MCPMethod, _ any, err error) {
	var unparsable *server.UnparsableMessageError
	if !errors.As(err, &unparsable) {
		return
	}
	if r := requestFrom(ctx); r.failure == nil {
		r.failure = &mcp.JSONRPCErrorDetails{Code: mcp.INVALID_PARAMS,
			Message: "this is not what the protocol has as a request of " + string(method) + unfitPlace(unparsable)}
	}
}

// unfitPlace names the member that has the wrong type, where one is to blame.
func unfitPlace(err error) string {
	var unfit *json.UnmarshalTypeError
	if !errors.As(err, &unfit) {
		return ""
	}
	var names []string
	for name := range strings.SplitSeq(unfit.Field, ".") {
		if name != "" && !unicode.IsUpper(rune(name[0])) { // those of Go types are not sent
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	kind, _, _ := strings.Cut(unfit.Value, " ") // "number 1.5"
	return ": " + strings.Join(names, ".") + " is " + kind
}
