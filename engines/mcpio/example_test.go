package mcpio_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"savant/engines"
	"savant/engines/mcpio"
)

// A server answers every line that it reads, then returns.
func ExampleServer_Serve() {
	registry := engines.NewRegistry(engines.Options{})
	add := engines.Bind("sum.add", "Adds two numbers.", func(_ context.Context, in struct {
		A int `json:"a"`
		B int `json:"b"`
	}) (map[string]int, error) {
		return map[string]int{"sum": in.A + in.B}, nil
	})
	add.Title = "Add"
	if err := registry.Add(add); err != nil {
		fmt.Println(err)
		return
	}
	server, err := mcpio.New(mcpio.Options{Registry: registry})
	if err != nil {
		fmt.Println(err)
		return
	}
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sum_add","arguments":{"a":1,"b":2}}}` + "\n")
	fmt.Println(server.Serve(context.Background(), in, os.Stdout))
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}}
	// <nil>
}
