package guide

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"savant/engines"
	"savant/internal/jsonvalue"
	"savant/think"
	"savant/think/library"
)

// adapted adapts the texts of an answer to the client.
func adapted[In, Out any](answer func(context.Context, In) (Out, error), texts func(Out, func(string) string) Out) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		out, err := answer(ctx, in)
		caller := engines.CallerFrom(ctx)
		if err != nil || caller.Spell == nil {
			return out, err
		}
		return texts(out, caller.Spell), nil
	}
}

func adaptReply(reply *think.Reply, spell func(string) string) *think.Reply {
	out := *reply
	out.Note = spell(out.Note)
	if next := out.Instruction; next != nil && string(next.SuccessSchema) == strconv.Quote(think.SeeExplain) {
		changed := *next
		changed.SuccessSchema = json.RawMessage(strconv.Quote(spell(think.SeeExplain)))
		out.Instruction = &changed
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
	sum := sha256.Sum256([]byte(out.PromptMD))
	out.Hash = jsonvalue.SHA256(hex.EncodeToString(sum[:]))
	return &out
}
