package expression

// The messages of errors for which nothing better is known.
const (
	NotCompiled  = notCompiled
	NotEvaluated = notEvaluated
)
