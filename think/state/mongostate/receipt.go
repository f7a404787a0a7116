package mongostate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/mongo"
	"savant/think/state"
)

// PutReceipt implements state.Receipts.
func (s *Store) PutReceipt(ctx context.Context, receipt state.Receipt) error {
	if err := state.CheckReceiptID(receipt.ID); err != nil {
		return err
	}
	data, err := state.EncodeReceipt(receipt)
	if err != nil {
		return err
	}
	what := "receipt " + receipt.ID + " was not saved"
	won, err := s.receipts.Insert(ctx, mongo.Document{Key: receipt.ID, Time: s.options.Now(), Body: data})
	if err != nil {
		return s.notSaved(ctx, what, err)
	}
	if !won {
		return fault.New(fault.IDCollision, "receipt %s already exists", receipt.ID)
	}
	if receipt.Run != "" {
		return nil
	}
	latest, err := jsonvalue.Encode(state.LatestCall{ID: receipt.ID, Output: receipt.Output, Time: receipt.Time})
	if err != nil {
		return fault.New(fault.InvalidParams, "a receipt does not encode: %w", err)
	}
	return s.notSaved(ctx, what, s.receipts.Replace(ctx, mongo.Document{Key: state.LatestCallKey(receipt.Tool, receipt.Input), Time: s.options.Now(), Body: latest}))
}

// Receipt implements state.Receipts.
func (s *Store) Receipt(ctx context.Context, id string) (state.Receipt, error) {
	id = strings.ToLower(id)
	if err := state.CheckReceiptID(id); err != nil {
		return state.Receipt{}, err
	}
	document, there, err := s.receipts.Find(ctx, id)
	if err != nil {
		return state.Receipt{}, s.notRead(ctx, "receipt "+id, err)
	}
	if !there {
		return state.Receipt{}, state.NoReceipt(id, "is not known, or no longer kept")
	}
	receipt, err := state.DecodeReceipt(id, document.Body)
	if err == nil && receipt.Artifact != "" {
		if receipt.Result, err = s.Artifact(ctx, receipt.Artifact); errors.Is(err, fault.StateCorrupt) {
			return state.Receipt{}, state.NoReceipt(id, "has lost its result")
		}
	}
	return receipt, err
}

// LatestCall implements state.Receipts.
func (s *Store) LatestCall(ctx context.Context, tool, input string) (state.LatestCall, error) {
	var found state.LatestCall
	document, there, err := s.receipts.Find(ctx, state.LatestCallKey(tool, input))
	if err != nil || !there || json.Unmarshal(document.Body, &found) != nil {
		return state.LatestCall{}, s.notRead(ctx, "the last call of "+tool, err)
	}
	return found, nil
}

// UseReceipt implements state.Receipts.
func (s *Store) UseReceipt(ctx context.Context, id, use string) (taken string, err error) {
	if err := state.CheckReceiptID(id); err != nil {
		return "", err
	}
	key := state.ReceiptUseKey(id)
	won, err := s.receipts.Insert(ctx, mongo.Document{Key: key, Time: s.options.Now(), Body: []byte(use)})
	if err != nil || won {
		return use, s.notSaved(ctx, "the use of the receipt "+id+" was not saved", err)
	}
	document, there, err := s.receipts.Find(ctx, key)
	if err != nil || !there {
		return use, s.notRead(ctx, "the use of the receipt "+id, err)
	}
	return string(document.Body), nil
}
