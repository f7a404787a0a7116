package engines_test

import (
	"context"
	"encoding/json"
	"fmt"

	"savant/engines"
)

// An engine with one tool. Its schema comes from the tags of its arguments, and
// they are checked before it runs.
func ExampleBind() {
	type greetIn struct {
		Name  string `json:"name" doc:"Whom to greet."`
		Times int    `json:"times,omitempty" min:"1" max:"5"`
	}
	hello := engines.Bind("weather.hello", "Greets somebody.", func(_ context.Context, in greetIn) (map[string]string, error) {
		return map[string]string{"greeting": "Hello " + in.Name}, nil
	})
	registry := engines.NewRegistry(engines.Options{})
	if err := registry.AddEngine(engines.Engine{Name: "weather", Concurrency: 2}, hello); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(hello.InputSchema()))
	_, err := registry.Call(context.Background(), "weather.hello", json.RawMessage(`{"name":"Ada","times":9}`))
	fmt.Println(err)
	// Output:
	// {"type":"object","properties":{"name":{"type":"string","description":"Whom to greet."},"times":{"type":"integer","minimum":1,"maximum":5}},"required":["name"]}
	// INVALID_PARAMS: weather.hello: times: expected at most 5, got 9
}

// A tool is called by its name in either spelling; a wrong name gets the
// nearest one.
func ExampleRegistry_Call() {
	registry := engines.NewRegistry(engines.Options{})
	err := registry.Add(engines.Bind("clock.now", "Tells the time.", func(context.Context, struct{}) (map[string]string, error) {
		return map[string]string{"time": "noon"}, nil
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(registry.Call(context.Background(), "clock_now", nil))
	fmt.Println(registry.Call(context.Background(), "clock.not", nil))
	// Output:
	// map[time:noon] <nil>
	// <nil> UNKNOWN_TOOL: no tool is named "clock.not"; did you mean "clock.now"?
}
