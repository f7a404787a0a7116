package service_test

import (
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"savant"
	"savant/reasoning"
	"savant/reasoning/service"
	"savant/schemas"
)

// The handler serves POST /agent_intent. Without a model the offline planner
// decides.
func ExampleNewHandler() {
	files, err := fs.Sub(savant.Files, "schemas")
	if err != nil {
		log.Fatal(err)
	}
	set, err := schemas.Load(files)
	if err != nil {
		log.Fatal(err)
	}
	schema, err := set.Lookup("reasoning_request")
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(service.NewHandler(service.HandlerOptions{Decider: service.New(service.Options{}), Schema: schema}))
	defer server.Close()
	body, err := reasoning.Request{SessionID: "s1", RunID: "r1", Step: 1, Goal: "Where are receipts stored?", Tools: []reasoning.Tool{{
		Name: "context.search", Description: "Full-text search.", InputSchema: []byte(`{"properties":{"query":{"type":"string"}}}`),
	}}, Limits: reasoning.Limits{MaxCalls: 1}}.Encode()
	if err != nil {
		log.Fatal(err)
	}
	response, err := http.Post(server.URL+reasoning.Endpoint, "application/json", strings.NewReader(string(body)))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	intent, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Status, string(intent))
	// Output:
	// 200 OK {"action":"tool","tool_name":"context.search","args":{"query":"receipts stored"},"reasoning":"Look for the words of the goal: receipts, stored.","model":"offline-planner"}
}
