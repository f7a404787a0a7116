package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/filelock"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/internal/receipt"
)

// Receipt is the receipt of a tool call, with its result.
type Receipt = receipt.Receipt

// receiptFile is a stored receipt. Its last field is the hash of all bytes before it,
// as in a record.
type receiptFile struct {
	Format int `json:"format"`
	Receipt
}

var receiptPattern = pattern.Lazy(`^[a-z2-7]{8}$`)

// PutReceipt keeps a receipt for a while: ID_COLLISION when there is one of
// its id. The result of one with an Artifact is not kept a second time.
//
// The file is written atomically but not synced: the step that uses a receipt copies
// its result into a durable record, and a receipt lost in a crash requires another call
// of the tool. Two simultaneous calls that draw the same of 2^40 ids are not detected.
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
		return fault.New(fault.IDCollision, "receipt %s already exists", receipt.ID)
	}
	data, err := EncodeReceipt(receipt)
	if err != nil {
		return err
	}
	if strings.HasPrefix(receipt.ID, gcID) {
		d.gcReceipts()
	}
	if err := d.ensureFolder(receiptFolder); err != nil {
		return err
	}
	if err := d.replace(name, data, atomicfile.Lazy); err != nil || receipt.Run != "" {
		return err
	}
	return d.putLatest(receipt)
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
		return Receipt{}, NoReceipt(id, "is not known, or no longer kept")
	}
	if err != nil {
		return Receipt{}, notRead(name, err)
	}
	receipt, err := DecodeReceipt(id, data)
	if err == nil && receipt.Artifact != "" {
		if receipt.Result, err = d.Artifact(ctx, receipt.Artifact); isCorrupt(err) {
			return Receipt{}, NoReceipt(id, "has lost its result")
		}
	}
	return receipt, err
}

func receiptName(id string) (string, error) {
	if err := CheckReceiptID(id); err != nil {
		return "", err
	}
	return path.Join(receiptFolder, id+jsonSuffix), nil
}

// CheckReceiptID returns INVALID_PARAMS for what is no id.
func CheckReceiptID(id string) error {
	if !receiptPattern().MatchString(id) {
		return fault.New(fault.InvalidParams, "%q is not a receipt: expected the 8 characters of a-z and 2-7 that a reply has under _receipt", fault.Cut(id, 60))
	}
	return nil
}

// NoReceipt is NOT_WITNESSED of an id, with the reason.
func NoReceipt(id, what string) error {
	return fault.New(fault.NotWitnessed, "the receipt %s %s: call the tool again through Savant and give the _receipt of its new reply", id, what)
}

// EncodeReceipt returns the stored bytes of a receipt. It appends the result to the other
// fields to preserve its bytes.
func EncodeReceipt(receipt Receipt) ([]byte, error) {
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

// DecodeReceipt verifies the bytes of a receipt. NOT_WITNESSED.
func DecodeReceipt(id string, data []byte) (Receipt, error) {
	var found receiptFile
	body, hash, whole := split(bytes.TrimSuffix(data, []byte("\n")))
	if !whole || digestOf(body, "}") != hash || json.Unmarshal(data, &found) != nil {
		return Receipt{}, NoReceipt(id, "is damaged")
	}
	if found.Format > Format {
		return Receipt{}, NoReceipt(id, "was written by a newer Savant")
	}
	if found.ID != id {
		return Receipt{}, NoReceipt(id, "is damaged")
	}
	return found.Receipt, nil
}

// LatestCall is the last call of a tool with some arguments that a client made.
type LatestCall struct {
	// ID is the id of the call's receipt, Output the digest of its result.
	ID     string    `json:"id"`
	Output string    `json:"output"`
	Time   time.Time `json:"time"`
}

// latestPrefix prefixes the names of LatestCall files in the folder of receipts. They
// are collected at the same age as receipts.
const latestPrefix = "latest-"

func latestCallName(tool, input string) string {
	return path.Join(receiptFolder, LatestCallKey(tool, input)+jsonSuffix)
}

// LatestCallKey names the last call of a tool with arguments of a digest.
func LatestCallKey(tool, input string) string {
	return latestPrefix + digestOf([]byte(tool+" "+input), "")[:32]
}

// isLatestCall reports whether a file in the folder of receipts is a LatestCall.
func isLatestCall(name string) bool { return strings.HasPrefix(name, latestPrefix) }

// putLatest notes a call as the last of its kind. Like the receipt it is not synced.
func (d *Dir) putLatest(receipt Receipt) error {
	data, err := jsonvalue.Encode(LatestCall{ID: receipt.ID, Output: receipt.Output, Time: receipt.Time})
	if err != nil {
		return fault.New(fault.InvalidParams, "a receipt does not encode: %w", err)
	}
	name := latestCallName(receipt.Tool, receipt.Input)
	saved := d.replace(name, append(data, '\n'), atomicfile.Lazy)
	if saved == nil {
		return nil
	}
	if _, err := d.disk.Entries(name); err != nil {
		return saved
	}
	kept, err := d.makeTrash(damagedLabel + "-receipt") // a clone can bring a folder of this name
	if err == nil {
		err = d.move(name, path.Join(kept, path.Base(name)))
	}
	if err != nil {
		return saved
	}
	return d.replace(name, append(data, '\n'), atomicfile.Lazy)
}

// LatestCall returns the last call of a tool with arguments of a digest, or the zero
// value where none is known.
func (d *Dir) LatestCall(ctx context.Context, tool, input string) (LatestCall, error) {
	name := latestCallName(tool, input)
	if ctx.Err() != nil {
		return LatestCall{}, interrupted(ctx, name)
	}
	data, err := readAll(d.disk, name)
	if err != nil && !missing(err) && !notOurs(err) {
		return LatestCall{}, notRead(name, err)
	}
	var found LatestCall
	if json.Unmarshal(data, &found) != nil { // none, torn by a crash, or another's: the next call writes it anew
		return LatestCall{}, nil
	}
	return found, nil
}

// usePrefix prefixes the names of the files that say what a receipt was used for. They
// are collected at the same age as receipts.
const usePrefix = "used-"

// ReceiptUseKey names what a receipt was used for.
func ReceiptUseKey(id string) string { return usePrefix + id }

// UseReceipt gives a receipt to the first who asks: it returns the use that has it, which is
// the given one unless another came first. Like the receipt it is not synced.
func (d *Dir) UseReceipt(ctx context.Context, id, use string) (taken string, err error) {
	if err := CheckReceiptID(id); err != nil {
		return "", err
	}
	name := path.Join(receiptFolder, ReceiptUseKey(id)+jsonSuffix)
	opened, _, err := openFile(d.disk, name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return "", notSaved(name, err)
	}
	defer func() { _ = opened.Close() }() // it ends the lock
	if err := filelock.Acquire(ctx, name, func() (bool, error) { return opened.TryLock(true) }); err != nil {
		return "", err
	}
	info, err := opened.Stat()
	if err != nil {
		return "", notRead(name, err)
	}
	data, err := readRange(opened, 0, min(info.size, maxUse))
	if err != nil {
		return "", notRead(name, err)
	}
	if json.Unmarshal(data, &taken) == nil { // else it is new, or torn by a crash
		return taken, nil
	}
	if data, err = jsonvalue.Encode(use); err != nil {
		return "", fault.New(fault.InvalidParams, "the use of a receipt does not encode: %w", err)
	}
	if _, err = opened.WriteAt(data, 0); err == nil {
		err = opened.Truncate(int64(len(data)))
	}
	if err != nil {
		return "", notSaved(name, err)
	}
	return use, nil
}

// maxUse exceeds the length of every use, in bytes.
const maxUse = 4096
