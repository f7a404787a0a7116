package mcpio

import (
	"encoding/json"
	"errors"
	"fmt"

	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
)

// params are the parameters that this package reads, of all methods.
type params struct {
	Meta         json.RawMessage
	Name         json.RawMessage
	URI          json.RawMessage
	TaskID       json.RawMessage
	Arguments    json.RawMessage
	RequestID    json.RawMessage
	RequestState string
	// InputResponses are the answers to the questions of a suspended call.
	InputResponses map[string]json.RawMessage
}

// readParams reads the parameters of a message.
func readParams(given json.RawMessage) (params, error) {
	var p params
	switch kind := jsonrpc.Kind(given); kind {
	case "", "null":
		return p, nil
	case "object":
	default:
		return p, fmt.Errorf("params is %s", kind)
	}
	var responses json.RawMessage
	err := jsonrpc.ReadObject(given, "params.", map[string]any{"_meta": &p.Meta, "name": &p.Name, "uri": &p.URI, "taskId": &p.TaskID, "arguments": &p.Arguments,
		"requestId": &p.RequestID, "inputResponses": &responses, "requestState": &p.RequestState})
	if err != nil {
		return p, err
	}
	switch kind := jsonrpc.Kind(responses); kind {
	case "", "null":
	case "object":
		p.InputResponses = map[string]json.RawMessage{}
		for name, value := range jsonvalue.Members(responses) {
			if p.InputResponses[name] != nil {
				return p, errors.New("params.inputResponses has an answer twice")
			}
			p.InputResponses[name] = value
		}
	default:
		return p, fmt.Errorf("params.inputResponses is %s", kind)
	}
	return p, nil
}

// textOf returns the value of a JSON string, and whether it is one.
func textOf(raw json.RawMessage) (string, bool) {
	return jsonvalue.Text(raw), jsonrpc.Kind(raw) == "string"
}
