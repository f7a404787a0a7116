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
