package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPhraseIsSaidAsWholeWords(t *testing.T) {
	for _, text := range []string{"review my changes", "Please REVIEW  my\nchanges!", "(review my changes)", "preview my changes; review my changes"} {
		require.True(t, says(text, "review my  changes"), text)
	}
	for _, text := range []string{"", "review", "preview my changes", "review my changeset", "review_my_changes", "reviewmy changes", "review my changes2"} {
		require.False(t, says(text, "review my changes"), text)
	}
	require.True(t, says("prüfe die ÄNDERUNG", "änderung"))
	require.False(t, says("anything", " "))
}
