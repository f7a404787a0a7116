package engines

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Receipt proves that a call went through the registry. The result that a model
// gives for a step is compared with it. Calls of think, agent and workflow leave
// none.
type Receipt struct {
	// ID is 8 characters of a-z and 2-7, drawn at random.
	ID string `json:"id"`
	// Tool is the canonical name.
	Tool string `json:"tool"`
	// Input and Output are digests as jsonvalue.Digest makes them: of the
	// arguments as the tool got them (InputDigest), and of the result.
	Input  string `json:"input"`
	Output string `json:"output"`
	// Arguments are what Input is the digest of, unless they are long.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Failed: Result is the fault of a call that failed.
	Failed bool `json:"failed,omitempty"`
	// Artifact is the reference of the whole result when it was too large to
	// return; Result holds the whole here too.
	Artifact string          `json:"artifact,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	// Run is the run that made the call by itself; empty where a client made it.
	Run string `json:"run,omitempty"`
	// Command, CommandDigest and CommandFile name what a tool such as ci.run
	// carried out: its name in the file of commands, its digest there, and that of
	// the file. Empty for other tools.
	Command       string `json:"command,omitempty"`
	CommandDigest string `json:"command_digest,omitempty"`
	CommandFile   string `json:"command_file,omitempty"`
	// Time is when the call was over.
	Time time.Time `json:"time"`
}

// Commanded is a result of a tool that carries out commands which a file names: it
// says which one. The receipt repeats it.
type Commanded interface {
	Commanded() (name, digest, file string)
}

type runKey struct{}

// ForRun returns the context of a call that a run makes by itself. Its receipt is
// good for that run alone.
func ForRun(ctx context.Context, run string) context.Context {
	return context.WithValue(ctx, runKey{}, run)
}

// receiptID is the length of an id, with five bits a character: short enough for
// a model to copy without a mistake.
const receiptID = 8

// maxArguments is the length up to which a receipt keeps the arguments of its
// call, to show what differs from an instruction.
const maxArguments = 8 << 10

// draws is how many ids are tried for one receipt: several collisions in a row
// are not chance.
const draws = 4

// InputDigest returns the digest of arguments as the tool would get them, with
// undeclared ones dropped and objects that came as text decoded. It is the Input
// of the receipt that a call with them leaves. The errors are UNKNOWN_TOOL and
// INVALID_PARAMS.
func (r *Registry) InputDigest(name string, args json.RawMessage) (string, error) {
	found, ok := r.find(name)
	if !ok {
		return "", r.unknown(context.Background(), name) // nothing waits
	}
	accepted, err := found.accept(context.Background(), args, r.table.options.Logger)
	if err != nil {
		return "", err
	}
	digest, err := digestOf(accepted)
	if err != nil {
		return "", fault.New(fault.InvalidParams, "%s: %w", found.tool.Name, err)
	}
	return digest, nil
}

func digestOf(encoded json.RawMessage) (string, error) {
	value, err := jsonvalue.Decode(encoded)
	if err != nil {
		return "", err
	}
	return jsonvalue.Digest(value)
}

// receiptGrace bounds how long keeping a receipt may take. A receipt is kept of a
// cancelled call too, since it may have had an effect.
const receiptGrace = 2 * time.Second

// leaveReceipt completes a receipt, keeps it and returns its id. If it cannot be
// kept, the call is not affected: the log says so, and the id is empty.
func (t *table) leaveReceipt(ctx context.Context, tool string, args json.RawMessage, receipt Receipt) string {
	receipt.Tool = tool
	if len(args) <= maxArguments {
		receipt.Arguments = args
	}
	receipt.Run, _ = ctx.Value(runKey{}).(string)
	var err error
	if receipt.Input, err = digestOf(args); err == nil {
		receipt.Output, err = digestOf(receipt.Result)
	}
	if err == nil {
		err = t.keep(ctx, &receipt)
	}
	if err != nil {
		t.options.Logger.WarnContext(ctx, "a call left no receipt", "tool", tool, "cause", err.Error())
		return ""
	}
	return receipt.ID
}

// keep draws ids until one is free.
func (t *table) keep(ctx context.Context, receipt *Receipt) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), receiptGrace)
	defer cancel()
	for try := 1; ; try++ {
		receipt.ID = strings.ToLower(rand.Text()[:receiptID])
		err := t.options.Receipts(ctx, *receipt)
		if !errors.Is(err, fault.IDCollision) || try == draws {
			return err
		}
	}
}

// leaveFailure leaves the receipt of a call that was begun and failed.
func (t *table) leaveFailure(ctx context.Context, found *row, args json.RawMessage, coded *fault.Error) Result {
	if t.options.Receipts == nil || coded.Code == fault.EngineBusy || isDriver(found.port.engine.Name) {
		return Result{}
	}
	encoded, err := jsonvalue.Encode(coded)
	if err != nil {
		t.options.Logger.WarnContext(ctx, "a fault does not marshal", "tool", found.tool.Name, "cause", err.Error())
		return Result{}
	}
	return Result{Receipt: t.leaveReceipt(ctx, found.tool.Name, args, Receipt{Failed: true, Result: encoded, Time: time.Now()})}
}

// WithReceipt returns the JSON of a result with the id of a receipt as its first
// member, so that a client that cuts long results keeps it. It replaces one that
// is there: that of a Savant mounted in this one. A result that is no object is
// returned as it is, and so is any without an id.
func WithReceipt(encoded json.RawMessage, receipt string) json.RawMessage {
	if receipt == "" || len(encoded) == 0 || encoded[0] != '{' {
		return encoded
	}
	out := []byte(`{"` + ReceiptKey + `":"` + receipt + `"`)
	for name, value := range jsonvalue.Members(encoded) {
		key, err := jsonvalue.Encode(name)
		if err == nil && name != ReceiptKey {
			out = append(append(append(append(out, ','), key...), ':'), value...)
		}
	}
	return append(out, '}')
}
