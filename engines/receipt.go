package engines

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/receipt"
	"savant/schemas"
)

// Receipt is the receipt of a call that went through the registry.
type Receipt = receipt.Receipt

// Commanded is implemented by results of tools that execute commands from a file. It
// identifies the command for the receipt.
type Commanded interface {
	Commanded() (name, digest, file string)
}

// receiptID is the length of an id, at five bits per character: short enough for a
// model to copy correctly.
const receiptID = 8

// maxArguments is the maximum size of arguments kept in a receipt, to show how they
// differ from an instruction.
const maxArguments = 8 << 10

// draws is how many ids are tried for one receipt. More collisions in a row indicate a
// defect.
const draws = 4

// InputDigest returns the digest of arguments as the tool would get them: without
// undeclared arguments, and with objects decoded that came as JSON strings. It equals
// Receipt.Input of a call with these arguments. The errors are UNKNOWN_TOOL and
// INVALID_PARAMS.
func (r *Registry) InputDigest(name string, args json.RawMessage) (string, error) {
	accepted, err := r.Accepted(name, args)
	if err != nil {
		return "", err
	}
	digest, err := digestOf(accepted)
	if err != nil {
		return "", fault.New(fault.InvalidParams, "%s: %w", name, err)
	}
	return digest, nil
}

// Accepted returns arguments as the tool would get them. The errors are UNKNOWN_TOOL and
// INVALID_PARAMS.
func (r *Registry) Accepted(name string, args json.RawMessage) (json.RawMessage, error) {
	found, ok := r.find(name)
	if !ok {
		return nil, r.unknown(context.Background(), name) // does not block
	}
	accepted, _, err := found.accept(context.Background(), args, r.table.options.Logger)
	return accepted, err
}

func digestOf(encoded json.RawMessage) (string, error) {
	value, err := jsonvalue.Decode(encoded)
	if err != nil {
		return "", err
	}
	return jsonvalue.Digest(value)
}

// receiptGrace bounds how long storing a receipt may take after its call was cancelled,
// which leaves a receipt too, since it may have had an effect.
const receiptGrace = 2 * time.Second

// leaveReceipt completes and stores a receipt and returns its id. If storing fails, the
// call still succeeds: the failure is logged, and the id is empty.
func (t *table) leaveReceipt(ctx context.Context, call Call, tool string, args json.RawMessage, receipt Receipt) string {
	receipt.Tool = tool
	if len(args) <= maxArguments {
		receipt.Arguments = args
	}
	receipt.Run = call.Step.RunID
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

// keep draws ids until one is unused. The store, which may be a slow database, bounds the
// time itself.
func (t *table) keep(ctx context.Context, receipt *Receipt) error {
	storing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(receiptGrace, cancel) })()
	for try := 1; ; try++ {
		receipt.ID = strings.ToLower(rand.Text()[:receiptID])
		err := t.options.Receipts.PutReceipt(storing, *receipt)
		if !errors.Is(err, fault.IDCollision) || try == draws {
			return err
		}
	}
}

// leaveFailure leaves the receipt of a call that was started and failed.
func (t *table) leaveFailure(ctx context.Context, call Call, found *registeredTool, args json.RawMessage, coded *fault.Error) Result {
	if t.options.Receipts == nil || coded.Code == fault.EngineBusy || isDriver(found.port.engine.Name) {
		return Result{}
	}
	encoded, err := jsonvalue.Encode(coded)
	if err != nil {
		t.options.Logger.WarnContext(ctx, "a fault does not marshal", "tool", found.tool.Name, "cause", err.Error())
		return Result{}
	}
	return Result{Receipt: t.leaveReceipt(ctx, call, found.tool.Name, args, Receipt{Failed: true, Result: encoded, Time: time.Now()})}
}

// Annotated returns the result's JSON, or that of its error, with the receipt's id and
// the warning as its first members, so that they survive clients that truncate results.
// They replace existing ones, which a mounted Savant added, but not a warning of the
// tool's own. What is not an object, and a result without either, stays unchanged.
func (r Result) Annotated(encoded json.RawMessage) json.RawMessage {
	added := map[string]string{ReceiptKey: r.Receipt, WarningKey: r.Warning}
	if len(encoded) == 0 || encoded[0] != '{' {
		return encoded
	}
	if OwnWarning(encoded) {
		added[WarningKey] = ""
	}
	if added[ReceiptKey] == "" && added[WarningKey] == "" {
		return encoded
	}
	var out []byte
	for _, name := range []string{ReceiptKey, WarningKey} {
		if added[name] != "" {
			value, err := jsonvalue.Encode(added[name])
			if err != nil {
				return encoded
			}
			out = append(append(append(out, `,"`+name+`"`...), ':'), value...)
		}
	}
	for name, value := range jsonvalue.Members(encoded) {
		key, err := jsonvalue.Encode(name)
		if err == nil && added[name] == "" {
			out = append(append(append(append(out, ','), key...), ':'), value...)
		}
	}
	out[0] = '{'
	return append(out, '}')
}

// OwnWarning reports whether a result has a member of the warning's name that is the
// tool's own.
func OwnWarning(encoded json.RawMessage) bool {
	if !bytes.Contains(encoded, []byte(WarningKey)) {
		return false
	}
	for name, value := range jsonvalue.Members(encoded) {
		if name == WarningKey {
			member, err := jsonvalue.DecodeStored(value)
			return err == nil && !schemas.IsWarning(member)
		}
	}
	return false
}
