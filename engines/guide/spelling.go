package guide

import (
	"context"
	"encoding/json"
	"strconv"

	"savant/engines"
	"savant/internal/jsonvalue"
	"savant/think"
	"savant/think/library"
)

// tool is the function behind a tool.
type tool[In, Out any] = func(context.Context, engines.Call, In) (Out, error)

// adapted adapts the texts of an answer to the client.
func adapted[In, Out any](answer tool[In, Out], texts func(Out, func(string) string) Out) tool[In, Out] {
	return func(ctx context.Context, call engines.Call, in In) (Out, error) {
		out, err := answer(ctx, call, in)
		if err != nil || call.Spell == nil {
			return out, err
		}
		return texts(out, call.Spell), nil
	}
}

func adaptReply(reply *think.Reply, spell func(string) string) *think.Reply {
	out := *reply
	out.Note = spell(out.Note)
	if next := out.Instruction; next != nil && string(next.SuccessSchema) == strconv.Quote(think.SeeExplain) {
		instruction := *next
		instruction.SuccessSchema = json.RawMessage(strconv.Quote(spell(think.SeeExplain)))
		out.Instruction = &instruction
	}
	return &out
}

func adaptReset(reset *think.ResetOutput, spell func(string) string) *think.ResetOutput {
	out := *reset
	out.Note = spell(out.Note)
	return &out
}

func adaptExplanation(explained any, spell func(string) string) any {
	run, ok := explained.(*think.RunExplanation)
	if !ok {
		return explained
	}
	out := *run
	out.Note, out.Text = spell(out.Note), spell(out.Text)
	return &out
}

// adaptPrompt adapts the text and keeps the original's hash.
func adaptPrompt(prompt *library.DriverPrompt, spell func(string) string) *library.DriverPrompt {
	out := *prompt
	out.PromptMD = spell(out.PromptMD)
	out.Hash = jsonvalue.SHA256(jsonvalue.HexSum([]byte(out.PromptMD)))
	return &out
}
