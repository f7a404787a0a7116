package mcpio_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"savant/engines"
	"savant/engines/mcpclient"
	"savant/engines/mcpio"
)

// A server and a client, joined by two pipes as by the standard streams of a
// child process.
func Example() {
	registry := engines.NewRegistry(engines.Options{})
	err := registry.Add(engines.Tool{
		Name: "greet.person", Title: "Greet", Description: "Greets a person.", ReadOnly: true,
		Input: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
		Call: func(_ context.Context, args json.RawMessage) (any, error) {
			var in struct{ Name string }
			err := json.Unmarshal(args, &in)
			return map[string]string{"greeting": "Hello " + in.Name}, err
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := mcpio.New(mcpio.Options{Registry: registry, Version: "1.0.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ctx := context.Background()
	go func() { _ = out.CloseWithError(server.Serve(ctx, in, out)) }()

	client, err := mcpclient.Connect(ctx, toServer, fromServer, mcpclient.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := client.Call(ctx, "greet.person", map[string]string{"name": "Ada"})
	fmt.Println(string(result), err)
	_, err = client.Call(ctx, "greet.person", map[string]int{"name": 7})
	fmt.Println(err)
	fmt.Println(client.Close())
	// Output:
	// {"greeting":"Hello Ada"} <nil>
	// INVALID_PARAMS: greet.person: name: expected string, got 7
	// <nil>
}
