package reasoning_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"savant/reasoning"
)

// transportFunc is a Transport within the program; a queue or another protocol
// implements the same method.
type transportFunc func(reasoning.Request) string

func (f transportFunc) RoundTrip(_ context.Context, request reasoning.Request, _ reasoning.Observer) (json.RawMessage, error) {
	return json.RawMessage(f(request)), nil
}

// A client checks and repairs what a transport brings.
func ExampleTransport() {
	client := reasoning.New(reasoning.Options{Transport: transportFunc(func(request reasoning.Request) string {
		return `{"action":"Tool","tool_name":"git_log","args":"{\"limit\":3}"}`
	})})
	intent, err := client.Decide(context.Background(), reasoning.Request{
		RunID: "r1", Step: 1, Goal: "What changed last week?", Tools: []reasoning.Tool{{Name: "git.log"}},
	}, reasoning.Unobserved{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(intent.Action, intent.ToolName, string(intent.Args))
	for _, repair := range intent.Repairs {
		fmt.Println("repaired:", repair)
	}
	// Output:
	// tool git.log {"limit":3}
	// repaired: action was written "Tool"
	// repaired: tool_name was written "git_log"
	// repaired: args was a string
}
