package engines

import "context"

// Warning says that the model of a step of a run did not see all of the step's input.
type Warning struct {
	StepID string
	Text   string
	// Seen has the texts of the input that were cut: how many of their first lines the
	// model saw.
	Seen map[string]int
}

type warningsKey struct{}

// WithWarnings returns the context of a call that a run makes itself, with what is known
// of its steps so far.
func WithWarnings(ctx context.Context, warnings []Warning) context.Context {
	return context.WithValue(ctx, warningsKey{}, warnings)
}

// WarningsFrom returns the warnings of the run that makes the call of ctx.
func WarningsFrom(ctx context.Context) []Warning {
	warnings, _ := ctx.Value(warningsKey{}).([]Warning)
	return warnings
}
