package app

import (
	"context"
	"encoding/json"

	"savant/agent"
	"savant/reasoning"
)

// prompts reads the driver prompt, the personas and the rules of the agent.
func (a *App) prompts(context.Context) (agent.Prompts, error) {
	var read agent.Prompts
	driver, complex, err := a.Think.Library.AgentPrompt()
	if err != nil {
		return read, err
	}
	read.Driver = reasoning.Driver{Version: driver.Version, Hash: driver.Hash, Text: driver.PromptMD, Complex: complex}
	whole, err := a.Think.Library.Prompts()
	if err != nil {
		return read, err
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		return read, err
	}
	return read, json.Unmarshal(raw, &read)
}
