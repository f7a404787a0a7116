package ci

// Outcome is the result of a command in one word. Only passed is a success: with a
// parser, an exit code of 0 may mean that no test ran.
type Outcome string

// The outcomes.
const (
	// Passed: exit code 0 and, with a parser, at least one test passed and none failed.
	Passed Outcome = "passed"
	// Failed: another exit code, or a failed test.
	Failed Outcome = "failed"
	// NoTests: exit code 0 and, with a parser, no test ran: none was found, or all were
	// skipped.
	NoTests Outcome = "no_tests"
	// TimedOut: it was ended at its timeout.
	TimedOut Outcome = "timed_out"
)

// outcomeOf returns the outcome of a command. found are its tests, or nil; parsed means
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
