package ci

// Outcome is how a command ended, in one word. Only passed is a success: where a parser
// is set, an exit code of 0 may mean that nothing was tested.
type Outcome string

// The outcomes.
const (
	// Passed: it ended with 0 and, with a parser, a test passed and none failed.
	Passed Outcome = "passed"
	// Failed: it ended with another code, or a test failed whatever the code.
	Failed Outcome = "failed"
	// NoTests: it ended with 0 and, with a parser, no test ran: none was found, or
	// all were skipped.
	NoTests Outcome = "no_tests"
	// TimedOut: it was ended at its timeout.
	TimedOut Outcome = "timed_out"
)

// outcomeOf returns how a command ended. found are its tests, nil for none; parsed says
// that a parser looked for tests.
func outcomeOf(report *Report, found *tests, parsed bool) Outcome {
	switch {
	case report.TimedOut:
		return TimedOut
	case report.ExitCode != 0, found != nil && found.failed > 0:
		return Failed
	case parsed && (found == nil || found.passed == 0):
		return NoTests
	}
	return Passed
}
