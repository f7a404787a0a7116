package agents

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"savant/cmd/savant/cli"
	"savant/internal/settings"
	"savant/reasoning"
)

// modelFlag is --slm or --llm: alone it selects that model to decide, with a value it
// also names the model.
type modelFlag struct {
	forced bool
	name   string
}

func (f *modelFlag) String() string {
	if f.name == "" && f.forced {
		return "true"
	}
	return f.name
}

// Type names the value in the usage.
func (*modelFlag) Type() string { return "model" }

// Set takes the name of a model, or whether that model decides.
func (f *modelFlag) Set(text string) error {
	if forced, err := strconv.ParseBool(text); err == nil {
		*f = modelFlag{forced: forced}
		return nil
	}
	if text = strings.TrimSpace(text); text == "" {
		return errors.New("expected the name of a model")
	}
	*f = modelFlag{name: text}
	return nil
}

func modelFlags(flags *pflag.FlagSet, want *runFlags) {
	for name, of := range map[string]struct {
		flag *modelFlag
		size string
	}{"slm": {&want.slm, "small"}, "llm": {&want.llm, "large"}} {
		flags.Var(of.flag, name, "let the "+of.size+" model decide; =ollama:NAME names it")
		flags.Lookup(name).NoOptDefVal = "true"
	}
}

// namedApart refuses --slm NAME: the flag also stands alone, so a name after a space would be
// the goal.
func (want *runFlags) namedApart(args []string) error {
	if len(args) == 0 || strings.ContainsAny(args[0], " \t\n") {
		return nil
	}
	elsewhere := len(args) > 1 || want.input != "" || want.file != "" || want.resume != "" || want.order.Workflow != ""
	for name, flag := range map[string]modelFlag{"slm": want.slm, "llm": want.llm} {
		if flag.forced && (elsewhere || strings.ContainsAny(args[0], ":.")) {
			return cli.UsageError("--" + name + " takes the name of a model behind =: --" + name + "=" + args[0])
		}
	}
	return nil
}

// readModels reads the models of a run, and which one decides.
func (p *program) readModels(want *runFlags) error {
	inside := &p.Loaded.Reasoning
	if inside.URL != "" && (want.slm.name != "" || want.llm.name != "") {
		return cli.UsageError("--slm and --llm name models of the built-in service, and " + settings.EnvReasoningURL + " names another service: leave one out")
	}
	if want.slm.forced && want.llm.forced {
		return cli.UsageError("--slm and --llm exclude each other: leave one out")
	}
	if want.slm.name != "" {
		inside.SLM = want.slm.name
	}
	if want.llm.name != "" {
		inside.LLM = want.llm.name
	}
	switch {
	case want.slm.forced:
		want.order.Model = reasoning.ModelSLM
	case want.llm.forced:
		want.order.Model = reasoning.ModelLLM
	}
	return nil
}
