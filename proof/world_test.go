package proof_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"savant"
	"savant/internal/jsonvalue"
	"savant/proof"
	"savant/proof/keys"
	"savant/think"
	"savant/think/library"
	"savant/think/state"
)

const head = "d36425965f5be432bf061c0137757104f357d74a"

const workflow = `name: shipped
version: "1.0"
params:
  who: {type: string, default: Ada}
steps:
  - {id: status, call: tool.status, witness: required, capture_as: status}
  - {id: say, call: llm.generate, input_template: {task: "Say hello to {{ params.who }}"}, capture_as: said}
  - {id: count, call: flow.set, input_template: {value: "{{ len(said.text) }}"}, capture_as: size}
  - {id: never, call: llm.generate, when: "size > 1000", input_template: {task: Nothing}}
  - {id: ask, call: human.approve, input_template: {message: "Ship {{ said.text }}?"}}
outputs: {size: "{{ state.size }}", text: "{{ said.text }}"}
`

// tools take the input of a call as it is, but for a "since" that is null.
type tools struct{ think.AnyTools }

// Asked implements think.Tools.
func (tools) Asked(call string, input json.RawMessage) (tool, digest string, err error) {
	return call, digestOf(json.RawMessage(strings.Replace(string(input), `,"since":null`, "", 1))), nil
}

func digestOf(raw json.RawMessage) string {
	value, _ := jsonvalue.Decode(raw)
	digest, _ := jsonvalue.Digest(value)
	return digest
}

// latest knows no latest call.
type latest struct{ *state.Dir }

// LatestCall implements state.Receipts.
func (latest) LatestCall(context.Context, string, string) (found state.LatestCall, err error) {
	return found, nil
}

// world is a folder with runs.
type world struct {
	t      testing.TB
	store  *state.Dir
	engine *think.Engine
	now    time.Time
}

func newWorld(t testing.TB, workflows map[string]string) *world {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range workflows {
		files["workflows/"+name+".yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	store, err := state.Open(t.TempDir(), state.Options{})
	require.NoError(t, err)
	w := &world{t: t, store: store, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	w.engine = think.New(think.Options{Library: library.New(library.Layer{Files: savant.Files}, library.Layer{Files: files}), Store: store, Imports: store,
		Tools: tools{}, Receipts: latest{store}, Now: func() time.Time { w.now = w.now.Add(time.Second); return w.now }})
	t.Cleanup(func() { w.engine.Close(); _ = store.Close() })
	return w
}

// shipped makes a whole run: witnessed, said, computed, skipped and answered by a person.
func (w *world) shipped(run, text string) state.Key {
	w.t.Helper()
	caller := think.Caller{Name: think.ByLocal}
	_, err := w.engine.Plan(w.t.Context(), think.PlanInput{Workflow: "shipped", RunID: run, Caller: caller})
	require.NoError(w.t, err)
	result := json.RawMessage(`{"branch":"main","head":"` + head + `","clean":true}`)
	id := jsonvalue.HexSum([]byte(run))
	id = strings.Map(func(r rune) rune { return 'a' + r%16 }, id)[:8]
	w.now = w.now.Add(time.Second)
	require.NoError(w.t, w.store.PutReceipt(w.t.Context(), state.Receipt{ID: id, Tool: "tool.status", Input: digestOf(json.RawMessage("{}")), Output: digestOf(result), Result: result, Time: w.now}))
	_, err = w.engine.Next(w.t.Context(), think.NextInput{RunID: run, StepID: "status", ResultRef: id, Caller: caller})
	require.NoError(w.t, err)
	_, err = w.engine.Next(w.t.Context(), think.NextInput{RunID: run, StepID: "say", ResultSnapshot: json.RawMessage(text), Caller: caller})
	require.NoError(w.t, err)
	pending, err := w.engine.Pending(w.t.Context(), "shipped", run)
	require.NoError(w.t, err)
	require.Len(w.t, pending, 1)
	_, err = w.engine.Approve(w.t.Context(), pending[0], map[string]any{"approved": true}, think.Caller{Name: think.ByTerminal})
	require.NoError(w.t, err)
	return state.Key{Workflow: "shipped", Run: run}
}

func (w *world) statement(key state.Key) *proof.Statement {
	w.t.Helper()
	statement, err := proof.Runs{Engine: w.engine, Receipts: w.store, Rulings: oneRefusal{}}.Build(w.t.Context(), proof.Request{Key: key, By: "savant test", Time: w.now})
	require.NoError(w.t, err)
	return statement
}

// signerOf returns a key that is always the same.
func signerOf(t testing.TB, seed byte) ssh.Signer {
	t.Helper()
	signer, err := ssh.NewSignerFromSigner(ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), ed25519.SeedSize))))
	require.NoError(t, err)
	return signer
}

func sealed(t testing.TB, statement *proof.Statement, signers ...ssh.Signer) []byte {
	t.Helper()
	file, err := proof.Seal(statement, signers...)
	require.NoError(t, err)
	return file
}

func trusting(signers ...ssh.Signer) proof.Trust {
	trust := proof.Trust{Now: time.Now()}
	for _, each := range signers {
		trust.Allowed = append(trust.Allowed, keys.Allowed{Name: "ada", Fingerprint: ssh.FingerprintSHA256(each.PublicKey())})
	}
	return trust
}

// replayer is an engine without runs.
func replayer(t testing.TB) *think.Engine {
	t.Helper()
	engine := think.New(think.Options{Library: library.New(library.Layer{Files: savant.Files})})
	t.Cleanup(engine.Close)
	return engine
}

// long makes a run of many steps.
func (w *world) long(run string, steps int) state.Key {
	w.t.Helper()
	_, err := w.engine.Plan(w.t.Context(), think.PlanInput{Workflow: "long", RunID: run})
	require.NoError(w.t, err)
	for i := range steps {
		_, err := w.engine.Next(w.t.Context(), think.NextInput{Workflow: "long", RunID: run, StepID: "s" + strconv.Itoa(i), ResultSnapshot: json.RawMessage(`"done"`)})
		require.NoError(w.t, err)
	}
	return state.Key{Workflow: "long", Run: run}
}

// oneRefusal are the rulings of a folder in which a rule refused a call of each run.
type oneRefusal struct{}

func (oneRefusal) RulesIn(from, to time.Time) ([]proof.RuleFile, error) {
	return []proof.RuleFile{{File: "rules/push.yaml", Text: "rules:\n  - {id: tests, before: git.push, deny: true} # not for Ada\n"}}, nil
}

func (oneRefusal) RefusedIn(workflow, run string) ([]think.RuleRefusal, error) {
	return []think.RuleRefusal{{Tool: "git.push", Time: "2026-01-02T03:04:05Z", Rules: []string{"tests (rules/push.yaml:4)"}}}, nil
}
