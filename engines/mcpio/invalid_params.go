package mcpio

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"savant/fault"
	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
)

// read decodes members of the parameters into the variables of into. Names are
// case-sensitive. A value of another type, or too large parameters, is -32602.
func (r *request) read(into map[string]any) error {
	if len(r.Params) > maxProtocolBytes {
		return r.invalid(tooLarge(r.Method))
	}
	for name, value := range jsonvalue.Members(r.Params) {
		target, wanted := into[name]
		if !wanted {
			continue
		}
		if err := json.Unmarshal(value, target); err != nil {
			return r.invalid(invalidParams(r.Method) + wrongMember(name, err))
		}
	}
	return nil
}

// invalid records -32602 as the error to report and returns it.
func (r *request) invalid(text string) error {
	r.failure = &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: text}
	return errors.New(text)
}

func tooLarge(method string) string {
	return fmt.Sprintf("%s takes at most %d bytes in addition to its arguments", fault.Cut(method, maxEcho), maxProtocolBytes)
}

func invalidParams(method string) string {
	return "these are not valid params of " + method
}

// wrongMember names the member with the wrong type, if the error identifies it.
func wrongMember(within string, err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return ""
	}
	names := []string{"params", within}
	for name := range strings.SplitSeq(wrong.Field, ".") {
		if name != "" && !unicode.IsUpper(rune(name[0])) { // names of Go types are left out
			names = append(names, name)
		}
	}
	kind, _, _ := strings.Cut(wrong.Value, " ") // "number 1.5"
	return ": " + strings.Join(names, ".") + " is " + kind
}
