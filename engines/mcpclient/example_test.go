package mcpclient_test

import (
	"context"
	"fmt"
	"io"

	"savant/engines"
	"savant/engines/mcpclient"
	"savant/engines/mcpio"
)

// A client and a server, joined by two pipes as by the standard streams of a
// child process.
func Example() {
	registry := engines.NewRegistry(engines.Options{})
	greet := engines.Bind("greet.person", "Greets a person.", func(_ context.Context, in struct {
		Name string `json:"name"`
	}) (map[string]string, error) {
		return map[string]string{"greeting": "Hello " + in.Name}, nil
	})
	greet.Title = "Greet"
	if err := registry.Add(greet); err != nil {
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
	name, version, revision := client.ServerInfo()
	fmt.Println(name, version, revision)
	result, err := client.Call(ctx, "greet.person", map[string]string{"name": "Ada"})
	fmt.Println(string(result), err)
	_, err = client.Call(ctx, "greet.person", map[string]int{"name": 7})
	fmt.Println(err)
	fmt.Println(client.Close())
	// Output:
	// savant 1.0.0 2025-11-25
	// {"greeting":"Hello Ada"} <nil>
	// INVALID_PARAMS: greet.person: name: expected string, got 7
	// <nil>
}
