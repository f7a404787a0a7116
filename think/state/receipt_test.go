package state_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/state"
)

func sampleReceipt(id string) state.Receipt {
	return state.Receipt{ID: id, Tool: "git.diff", Input: strings.Repeat("a", 64), Output: strings.Repeat("b", 64),
		Result: json.RawMessage(`{"files":[{"path":"a<b>.go"}]}`), Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)}
}

func TestReceiptIsReadByAnotherProcess(t *testing.T) {
	ctx, folder := context.Background(), t.TempDir()
	given := sampleReceipt("abcd2345")
	require.NoError(t, openDir(t, folder).PutReceipt(ctx, given))
	other := openDir(t, folder)
	for _, id := range []string{"abcd2345", "ABCD2345"} {
		found, err := other.Receipt(ctx, id)
		require.NoError(t, err)
		require.Equal(t, given, found)
	}
	require.ErrorIs(t, other.PutReceipt(ctx, given), fault.IDCollision)
	info, err := os.Stat(filepath.Join(folder, ".savant", "receipts", "abcd2345.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestLargeResultsOfReceiptsAreArtifacts(t *testing.T) {
	ctx, folder := context.Background(), t.TempDir()
	store := openDir(t, folder)
	given := sampleReceipt("abcd2345")
	given.Result = json.RawMessage(`{"text":"` + strings.Repeat("x", 2<<20) + `"}`)
	var err error
	given.Artifact, err = store.PutArtifact(ctx, given.Result)
	require.NoError(t, err)
	require.NoError(t, store.PutReceipt(ctx, given))
	found, err := store.Receipt(ctx, given.ID)
	require.NoError(t, err)
	require.Equal(t, given, found)
	info, err := os.Stat(filepath.Join(folder, ".savant", "receipts", "abcd2345.json"))
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(1000))

	collected, err := store.GCArtifacts(ctx, 0, false)
	require.NoError(t, err)
	require.Zero(t, collected.Artifacts, "a receipt names it")
	require.NoError(t, os.Remove(filepath.Join(folder, filepath.FromSlash(state.ArtifactFile(given.Artifact)))))
	_, err = store.Receipt(ctx, given.ID)
	require.ErrorIs(t, err, fault.NotWitnessed)
}

// TestReceiptsThatAreNone: a file that is not a whole receipt of its id is never used,
// and the error says what to do.
func TestReceiptsThatAreNone(t *testing.T) {
	ctx, folder := context.Background(), t.TempDir()
	store := openDir(t, folder)
	require.NoError(t, store.PutReceipt(ctx, sampleReceipt("abcd2345")))
	file := filepath.Join(folder, ".savant", "receipts", "abcd2345.json")
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	damaged := map[string][]byte{
		"torn":      whole[:len(whole)/2],
		"empty":     nil,
		"zeros":     make([]byte, len(whole)),
		"edited":    []byte(strings.Replace(string(whole), "git.diff", "git.show", 1)),
		"not JSON":  []byte("receipt"),
		"one brace": []byte("}"),
	}
	for name, data := range damaged {
		require.NoError(t, os.WriteFile(file, data, 0o600))
		_, err := store.Receipt(ctx, "abcd2345")
		require.ErrorIs(t, err, fault.NotWitnessed, name)
		require.ErrorContains(t, err, "_receipt", name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, ".savant", "receipts", "zzzz2345.json"), whole, 0o600))
	for _, id := range []string{"zzzz2345", "yyyy2345"} {
		_, err = store.Receipt(ctx, id)
		require.ErrorIs(t, err, fault.NotWitnessed, id)
	}
	for _, id := range []string{"", "abc", "abcd2345x", "../abcd2", "abcd/345", "abcd0189"} {
		_, err = store.Receipt(ctx, id)
		require.ErrorIs(t, err, fault.InvalidParams, id)
		require.ErrorIs(t, store.PutReceipt(ctx, sampleReceipt(id)), fault.InvalidParams, id)
	}
}

func TestReceiptsStayBelowTheFolder(t *testing.T) {
	ctx, folder, outside := context.Background(), t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, ".savant"), 0o700))
	require.NoError(t, os.Symlink(outside, filepath.Join(folder, ".savant", "receipts")))
	store := openDir(t, folder)
	require.Error(t, store.PutReceipt(ctx, sampleReceipt("abcd2345")))
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func BenchmarkPutReceipt(b *testing.B) {
	store := openDir(b, b.TempDir())
	given := sampleReceipt("")
	given.Result = json.RawMessage(`{"text":"` + strings.Repeat("x", 30<<10) + `"}`)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		given.ID = fmt.Sprintf("b%c%c%c%c222", 'a'+i/26/26/26%26, 'a'+i/26/26%26, 'a'+i/26%26, 'a'+i%26)
		require.NoError(b, store.PutReceipt(context.Background(), given))
	}
}
