package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"savant/agent"
	"savant/agent/memory"
	"savant/engines"
	"savant/reasoning"
)

// scripted is a Reasoning API that answers from a list.
type scripted []string

func (s scripted) RoundTrip(_ context.Context, request reasoning.Request, _ reasoning.Observer) (json.RawMessage, error) {
	return json.RawMessage(s[request.Step-1]), nil
}

// clockTools is a Toolbox with one tool.
type clockTools struct{}

func (clockTools) Engines() []string { return []string{"clock"} }

func (clockTools) Tools() []engines.Tool {
	return []engines.Tool{{Name: "clock.now", Description: "Tells the time.", Input: json.RawMessage(`{"type":"object"}`), ReadOnly: true}}
}

func (clockTools) Invoke(context.Context, engines.Call, string, json.RawMessage) (engines.Result, error) {
	return engines.Result{JSON: json.RawMessage(`{"time":"10:15"}`)}, nil
}

// A run asks the transport what to do at each step, and calls tools of the
// toolbox.
func ExampleRuntime() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	root, err := os.OpenRoot(folder)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	runtime := agent.New(agent.Options{
		Toolbox: clockTools{},
		Decider: reasoning.New(reasoning.Options{Transport: scripted{
			`{"action":"tool","tool_name":"clock_now"}`,
			`{"action":"finish","final":"It is 10:15."}`,
		}}),
		Memory: memory.Open(root, time.Now),
		Now:    time.Now,
		NewID:  func() string { return "run1" },
	})
	defer runtime.Close()
	run, err := runtime.Start(agent.RunOptions{Goal: "What time is it?"})
	if err != nil {
		log.Fatal(err)
	}
	report := run.Wait(context.Background(), nil)
	for _, step := range report.Transcript {
		for _, call := range step.Calls {
			fmt.Println(step.Index, call.Tool, string(call.Output))
		}
	}
	fmt.Println(report.Status, report.Final)
	// Output:
	// 1 clock.now {"time":"10:15"}
	// ok It is 10:15.
}
