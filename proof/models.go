package proof

import (
	"cmp"
	"fmt"
	"slices"

	"savant/internal/jsonvalue"
)

// Model is who answered steps: a model that a program asked, or a client whose model nobody
// named. How often, and what that took, is as the records of the answers say.
type Model struct {
	// Grade is SeenModel or ReportedModel.
	Grade  string `json:"grade"`
	Model  string `json:"model,omitempty"`
	Client string `json:"client,omitempty"`
	// Calls counts the calls of a model, or the answers of a client.
	Calls        int `json:"calls"`
	PromptTokens int `json:"prompt_tokens,omitempty"`
	OutputTokens int `json:"output_tokens,omitempty"`
}

// How it is known who answered.
const (
	SeenModel     = "seen"     // the Savant of the run called the model itself
	ReportedModel = "reported" // a client or a service says so
)

// used is what the models of an answer took, as the record has it.
type used struct {
	PromptTokens int `json:"prompt_tokens"`
	OutputTokens int `json:"output_tokens"`
	Models       []struct {
		Model
		Remote bool `json:"remote"`
	} `json:"models"`
}

// modelsOf sums up who answered, in the order of the first answers, also answers that a reset took away: they were made.
func modelsOf(entries []entry, imported int) (found []Model) {
	add := func(grade, model, client string, calls, prompt, output int) {
		at := slices.IndexFunc(found, func(each Model) bool { return each.Grade == grade && each.Model == model && each.Client == client })
		if at < 0 {
			at, found = len(found), append(found, Model{Grade: grade, Model: model, Client: client})
		}
		found[at].Calls += calls
		found[at].PromptTokens += prompt
		found[at].OutputTokens += output
	}
	for _, each := range entries {
		var took used
		if each.Kind != kindResult || len(each.Used) > 0 && jsonvalue.UnmarshalShared(each.Used, &took) != nil {
			continue
		}
		for _, one := range took.Models {
			grade := SeenModel
			if one.Remote || each.Version <= imported {
				grade = ReportedModel
			}
			add(grade, one.Model.Model, "", one.Calls, one.PromptTokens, one.OutputTokens)
		}
		if len(took.Models) == 0 && each.Witness != witnessGateway && each.Call == "" {
			add(ReportedModel, "", each.Claims, 1, took.PromptTokens, took.OutputTokens)
		}
	}
	return found
}

// Describe says in words who answered.
func (m Model) Describe() string {
	who, what := m.Model, "call"
	if who == "" {
		who, what = "a model of "+cmp.Or(m.Client, "an unnamed client"), "answer"
	}
	if m.Calls != 1 {
		what += "s"
	}
	text := fmt.Sprintf("%s: %d %s", who, m.Calls, what)
	if m.PromptTokens+m.OutputTokens > 0 {
		text += fmt.Sprintf(", tokens %d+%d", m.PromptTokens, m.OutputTokens)
	}
	return text + ", " + m.Grade
}
