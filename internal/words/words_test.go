package words_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/words"
)

func TestOf(t *testing.T) {
	require.Equal(t, []string{"where", "is", "größe", "set", "42"}, words.Split("Where is `Größe` set? 42!"))
	require.True(t, words.IsStop("where"))
	require.False(t, words.IsStop("größe"))
}

// A rare word is worth more than a common one, a repeated one more than one that
// stands once, and the same word less in a longer text.
func TestBM25(t *testing.T) {
	require.Greater(t, words.Rarity(1, 100), words.Rarity(50, 100))
	require.Positive(t, words.Rarity(100, 100))
	require.Greater(t, words.Frequency(2, 1), words.Frequency(1, 1))
	require.Less(t, words.Frequency(1, 2), words.Frequency(1, 1))
	require.Zero(t, words.Frequency(0, 1))
}

func TestIrregular(t *testing.T) {
	require.Equal(t, []string{"hide", "hid", "hidden"}, words.Irregular("hidden"))
	require.Nil(t, words.Irregular("parse"))
}
