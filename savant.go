// Package savant tells the system in one file: the interfaces that the program is made
// of, and the files that are built in. Each interface is declared where it is used, since
// imports only go down; here stand its name, who implements it, and what every method
// promises.
//
// A call goes one way. A client's line becomes an engines.Call; the registry finds the
// tool and checks the arguments; the tool does its work against these interfaces; what it
// did is recorded before it is answered:
//
//	client → engines/mcpio → engines.Registry → think.Engine → Journal → reply
//
// All errors are *fault.Error with a code. Every method takes a context and may be called
// concurrently. A context that ends makes a call fail, and undoes nothing that was
// acknowledged.
package savant

import (
	"embed"

	"savant/agent"
	"savant/engines"
	"savant/think"
	"savant/think/state"
)

// Files are the bundled workflows/, prompts/, prompts.yml and schemas/. Files below
// SAVANT_PATH overlay them one by one.
//
//go:embed workflows/*.yaml prompts/*.md prompts.yml schemas/*.json
var Files embed.FS

// Tools look up, describe and call what can be called. The registry implements them:
// engines/* and mounted servers add rows to its table, and whatever calls a tool goes
// through it, so arguments are checked, bounded and receipted in one place.
//
// Invoke is the only method with an effect. Its codes are UNKNOWN_TOOL, INVALID_PARAMS,
// TOOL_DENIED and RULE_REFUSED before the tool is started; ENGINE_BUSY and ENGINE_OFFLINE
// if it could not be; TOOL_TIMEOUT, TOOL_FAILED or the tool's own code afterwards.
type Tools interface {
	// Tools are what a workflow's steps have to know of tools, without calling them.
	think.Tools
	// Toolbox lists them and calls them.
	agent.Toolbox
}

// Journal stores runs: append by version, read, list, name a checkpoint, delete. The first
// to append a version wins; anybody else gets STATE_CONFLICT, reads what happened, and
// decides anew. What Append returned is durable. The codes are STATE_CONFLICT, UNKNOWN_RUN,
// CHECKPOINT_NOT_FOUND, STATE_NOT_SAVED and STATE_CORRUPT. A folder (state.Dir) and a
// database (mongostate.Store) implement it; the tests of test/statetest are its contract.
type Journal = state.Journal

// Artifacts store large values under the digest of their content, once: STATE_NOT_SAVED,
// and STATE_CORRUPT for a value that is missing or changed.
type Artifacts = state.Artifacts

// Receipts store for a while that a call went through Savant and what came of it:
// NOT_WITNESSED for one that is unknown or too old. A receipt answers one step, and no
// second one.
type Receipts = state.Receipts

// Maintenance is what only checks, repairs, moves and the trash need of a store. No run
// needs it to go on.
type Maintenance = state.Maintenance

// Person answers questions: the user of a client. The answer may come much later, and
// never, so no lock, place or turn is held while one is asked. An answer is accept, decline
// or cancel; an error means that nobody could be asked, and the step still waits for
// somebody: at a terminal, in the hub, or in the next form.
type Person = engines.Person

// Decider says what an agent does next: one question, one intent. REASONING_UNAVAILABLE
// if nobody answered, INVALID_INTENT if the answer is of no use. It changes nothing; the
// agent records the intent before it acts on it.
type Decider = agent.Decider
