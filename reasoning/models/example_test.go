package models_test

import (
	"context"
	"fmt"
	"log"

	"savant/reasoning"
	"savant/reasoning/models"
	"savant/reasoning/service"
)

// parrot is a Model that always gives the same answer. A client of another
// service sends the prompt there instead.
type parrot struct{}

func (parrot) Name() string { return "example:parrot" }

func (parrot) Generate(_ context.Context, prompt models.Prompt) (models.Reply, error) {
	return models.Reply{Text: "Sure!\n```json\n{'action': 'finish', 'final': 'hello'}\n```", PromptTokens: 100, OutputTokens: 12}, nil
}

// The service asks a model, and reads the intent in what it wrote.
func ExampleModel() {
	decider := service.New(service.Options{SLM: parrot{}})
	intent, err := decider.Decide(context.Background(), reasoning.Request{RunID: "r1", Step: 1, Goal: "Say hello."}, reasoning.Unobserved{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(intent.Model, intent.Action, intent.Final, intent.OutputTokens)
	// Output: example:parrot finish hello 12
}
