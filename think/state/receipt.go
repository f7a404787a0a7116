package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// Receipt says that a call of a tool went through Savant, and what came of it.
// It has the fields of engines.Receipt.
type Receipt struct {
	// ID is 8 characters of a-z and 2-7.
	ID string `json:"id"`
	// Tool is the canonical name.
	Tool string `json:"tool"`
	// Input and Output are digests of the arguments and of the result, made by
	// who keeps the receipt.
	Input  string `json:"input"`
	Output string `json:"output"`
	// Arguments are what Input is the digest of, unless they are long.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Failed: Result is the fault of a call that failed.
	Failed bool `json:"failed,omitempty"`
	// Artifact is the digest under which a large result is kept, or empty.
	Artifact string          `json:"artifact,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	// Time is when the call was over.
	Time time.Time `json:"time"`
}

// receiptFile is a receipt as it is kept. Its last field, the hash, is that of
// all the bytes before, as in a record.
type receiptFile struct {
	Format int `json:"format"`
	Receipt
}

var receiptPattern = pattern.Lazy(`^[a-z2-7]{8}$`)

// PutReceipt keeps a receipt for a while: ID_COLLISION when there is one of
// its id. The result of one with an Artifact is not kept a second time.
//
// The file is whole or absent, but not synced: the step that uses a receipt
// copies its result into a durable record. If a crash of the machine loses a
// receipt, its tool has to be called again. Two calls that draw the same one of
// 2^40 ids at the same moment are not told apart.
func (d *Dir) PutReceipt(ctx context.Context, receipt Receipt) error {
	name, err := receiptName(receipt.ID)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return interrupted(ctx, name)
	}
	// A damaged receipt counts as none and is written over.
	if _, err := d.Receipt(ctx, receipt.ID); !errors.Is(err, fault.NotWitnessed) {
		if err != nil {
			return err
		}
		return fault.New(fault.IDCollision, "there is a receipt %s already", receipt.ID)
	}
	data, err := encodeReceipt(receipt)
	if err != nil {
		return err
	}
	if strings.HasPrefix(receipt.ID, gcID) {
		d.gcReceipts()
	}
	if err := d.ensureFolder(receiptFolder); err != nil {
		return err
	}
	return d.replace(name, data, atomicfile.Lazy)
}

// Receipt returns a receipt with its whole result. An id in capitals is the
// same. INVALID_PARAMS for what is no id, NOT_WITNESSED if no such receipt
// is kept, or it is damaged.
func (d *Dir) Receipt(ctx context.Context, id string) (Receipt, error) {
	id = strings.ToLower(id)
	name, err := receiptName(id)
	if err != nil {
		return Receipt{}, err
	}
	if ctx.Err() != nil {
		return Receipt{}, interrupted(ctx, name)
	}
	data, err := readAll(d.disk, name)
	if missing(err) {
		return Receipt{}, noReceipt(id, "is not known, or no longer kept")
	}
	if err != nil {
		return Receipt{}, notRead(name, err)
	}
	receipt, err := decodeReceipt(id, data)
	if err == nil && receipt.Artifact != "" {
		if receipt.Result, err = d.Artifact(ctx, receipt.Artifact); isCorrupt(err) {
			return Receipt{}, noReceipt(id, "has lost its result")
		}
	}
	return receipt, err
}

func receiptName(id string) (string, error) {
	if !receiptPattern().MatchString(id) {
		return "", fault.New(fault.InvalidParams, "%q is no receipt: expected the 8 characters of a-z and 2-7 that a reply has under _receipt", fault.Cut(id, 60))
	}
	return path.Join(receiptFolder, id+jsonSuffix), nil
}

func noReceipt(id, what string) error {
	return fault.New(fault.NotWitnessed, "the receipt %s %s: call the tool again through Savant and give the _receipt of its new reply", id, what)
}

// encodeReceipt appends the result to the other fields, so that its bytes stay as
// they are.
func encodeReceipt(receipt Receipt) ([]byte, error) {
	result := receipt.Result
	receipt.Result = nil
	head, err := jsonvalue.Encode(receiptFile{Format, receipt})
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "a receipt does not encode: %w", err)
	}
	body := bytes.NewBuffer(make([]byte, 0, len(head)+len(result)+128))
	body.Write(bytes.TrimSuffix(head, []byte("}")))
	if receipt.Artifact == "" && len(result) > 0 {
		body.WriteString(`,"result":`)
		body.Write(result)
	}
	hash := digestOf(body.Bytes(), "}")
	body.WriteString(hashField + hash + lineEnd + "\n")
	return body.Bytes(), nil
}

// decodeReceipt verifies the bytes of a receipt's file.
func decodeReceipt(id string, data []byte) (Receipt, error) {
	var found receiptFile
	body, hash, whole := split(bytes.TrimSuffix(data, []byte("\n")))
	if !whole || digestOf(body, "}") != hash || json.Unmarshal(data, &found) != nil {
		return Receipt{}, noReceipt(id, "is damaged")
	}
	if found.Format > Format {
		return Receipt{}, noReceipt(id, "was written by a newer Savant")
	}
	if found.ID != id {
		return Receipt{}, noReceipt(id, "is damaged")
	}
	return found.Receipt, nil
}
