package agent

import "savant/fault"

// State is a state of the machine.
type State string

// The states of a run. Finish, Error and Cancel are its ends.
const (
	Boot       State = "Boot"
	Ready      State = "Ready"
	ForcedTool State = "ForcedTool"
	Loop       State = "Loop"
	Decide     State = "Decide"
	Tool       State = "Tool"
	Reason     State = "Reason"
	Snapshot   State = "Snapshot"
	Stuck      State = "Stuck"
	Finish     State = "Finish"
	Error      State = "Error"
	Cancel     State = "Cancel"
)

// Signal says what happened in a state.
type Signal string

// The signals.
const (
	booted    Signal = "booted"
	resumed   Signal = "resumed"
	forced    Signal = "forced"
	begin     Signal = "begin"
	ask       Signal = "ask"
	exhausted Signal = "exhausted"
	tool      Signal = "tool"
	reason    Signal = "reason"
	done      Signal = "done"
	saved     Signal = "saved"
	stuck     Signal = "stuck"
	finish    Signal = "finish"
	failed    Signal = "failed"
	canceled  Signal = "canceled"
)

// rule says what a state allows.
type rule struct {
	// next has the state that each possible signal leads to.
	next map[Signal]State
	// calls: tools may be called here.
	calls bool
}

// rules is the whole machine. docs/agent.md draws it from here.
var rules = map[State]rule{
	Boot:       {next: map[Signal]State{booted: Ready, resumed: Tool, failed: Error, canceled: Cancel}},
	Ready:      {next: map[Signal]State{forced: ForcedTool, begin: Loop, finish: Finish, failed: Error, canceled: Cancel}},
	ForcedTool: {next: map[Signal]State{done: Snapshot, failed: Error, canceled: Cancel}, calls: true},
	Loop:       {next: map[Signal]State{ask: Decide, exhausted: Finish, canceled: Cancel}},
	Decide:     {next: map[Signal]State{tool: Tool, reason: Reason, finish: Finish, failed: Error, canceled: Cancel}},
	Tool:       {next: map[Signal]State{done: Snapshot, failed: Error, canceled: Cancel}, calls: true},
	Reason:     {next: map[Signal]State{done: Snapshot, failed: Error, canceled: Cancel}},
	Snapshot:   {next: map[Signal]State{saved: Loop, stuck: Stuck, finish: Finish, canceled: Cancel}},
	Stuck:      {next: map[Signal]State{finish: Finish, canceled: Cancel}},
	Finish:     {},
	Error:      {},
	Cancel:     {},
}

// next returns the state that a signal leads to. A signal that the state does not
// allow is a programming error: INTERNAL.
func next(from State, signal Signal) (State, error) {
	to, allowed := rules[from].next[signal]
	if !allowed {
		return Error, fault.New(fault.Internal, "state %s does not allow %q", from, signal)
	}
	return to, nil
}

// isEnd says whether a state is an end.
func (s State) isEnd() bool { return len(rules[s].next) == 0 }
