package think_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/fault"
	"savant/test/statetest"
	"savant/think"
	"savant/think/library"
)

// Parts of an artifact, one after the other, are the whole, and no character is
// taken apart.
func TestArtifactsAreReadInParts(t *testing.T) {
	t.Parallel()
	engine := think.New(think.Options{Library: library.New(), Store: statetest.NewMemory()})
	defer engine.Close()
	rapid.Check(t, func(t *rapid.T) {
		whole := strings.Repeat(rapid.String().Draw(t, "text"), rapid.IntRange(0, 300).Draw(t, "times"))
		digest, err := engine.Store.PutArtifact(context.Background(), []byte(whole))
		require.NoError(t, err)
		in := think.StateGetInput{Artifact: digest, Limit: rapid.SampledFrom([]int{0, 4, 5, 100, 64_000}).Draw(t, "limit")}
		var read strings.Builder
		for {
			got, err := engine.StateGet(context.Background(), in)
			require.NoError(t, err)
			require.Equal(t, len(whole), got.Artifact.Bytes)
			read.WriteString(got.Artifact.Text)
			encoded, err := json.Marshal(got.Artifact.Text)
			require.NoError(t, err)
			require.NotContains(t, string(encoded), `\ufffd`)
			if in.Offset = got.Artifact.Next; in.Offset == 0 {
				break
			}
		}
		require.Equal(t, whole, read.String())
	})
	digest, err := engine.Store.PutArtifact(t.Context(), []byte("abc"))
	require.NoError(t, err)
	_, err = engine.StateGet(t.Context(), think.StateGetInput{Artifact: digest, Offset: 4})
	require.ErrorIs(t, err, fault.InvalidParams)
	_, err = engine.StateGet(t.Context(), think.StateGetInput{Artifact: "../x"})
	require.ErrorIs(t, err, fault.InvalidParams)
	_, err = engine.StateGet(t.Context(), think.StateGetInput{Artifact: strings.Repeat("0", 64)})
	require.ErrorIs(t, err, fault.InvalidParams)
	_, err = engine.StateGet(t.Context(), think.StateGetInput{})
	require.ErrorIs(t, err, fault.InvalidParams)
}

// An offset inside a character means the part that begins with it; bytes that are no text
// are read to their end.
func TestAPartBeginsWithACharacter(t *testing.T) {
	t.Parallel()
	engine := think.New(think.Options{Library: library.New(), Store: statetest.NewMemory()})
	defer engine.Close()
	digest, err := engine.Store.PutArtifact(t.Context(), []byte("aé😀b"))
	require.NoError(t, err)
	for offset, want := range map[int]think.Part{
		0: {Text: "aé", Next: 3}, 2: {Offset: 1, Text: "é", Next: 3}, 3: {Offset: 3, Text: "😀", Next: 7},
		4: {Offset: 3, Text: "😀", Next: 7}, 6: {Offset: 3, Text: "😀", Next: 7}, 7: {Offset: 7, Text: "b"}, 8: {Offset: 8},
	} {
		part, err := engine.Artifact(t.Context(), think.ArtifactInput{Ref: digest, Offset: offset, Limit: 4})
		require.NoError(t, err)
		want.Bytes = 8
		require.Equal(t, want, *part, offset)
	}
	raw, err := engine.Store.PutArtifact(t.Context(), []byte(strings.Repeat("\x80", 20)))
	require.NoError(t, err)
	for offset, parts := 0, 0; ; parts++ {
		part, err := engine.Artifact(t.Context(), think.ArtifactInput{Ref: raw, Offset: offset, Limit: 8})
		require.NoError(t, err)
		require.Less(t, parts, 20, "each part goes on")
		if offset = part.Next; offset == 0 {
			break
		}
	}
}
