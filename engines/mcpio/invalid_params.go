package mcpio

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"savant/internal/jsonrpc"
)

// reportInvalidParams answers a request whose parameters have a wrong type, in the
// protocol's terms. mcp-go would name its Go types.
func reportInvalidParams(ctx context.Context, _ any, method mcp.MCPMethod, _ any, err error) {
	var unparsable *server.UnparsableMessageError
	if r := requestFrom(ctx); errors.As(err, &unparsable) && r.failure == nil {
		r.failure = &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: invalidParams(string(method)) + wrongMember(unparsable)}
	}
}

func invalidParams(method string) string {
	return "these are not valid params of " + method
}

// wrongMember names the member with the wrong type, if the error identifies it.
func wrongMember(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return ""
	}
	var names []string
	for name := range strings.SplitSeq(wrong.Field, ".") {
		if name != "" && !unicode.IsUpper(rune(name[0])) { // names of Go types are left out
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	kind, _, _ := strings.Cut(wrong.Value, " ") // "number 1.5"
	return ": " + strings.Join(names, ".") + " is " + kind
}
