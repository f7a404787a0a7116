package files_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/repo/files"
)

func TestLanguageName(t *testing.T) {
	for name, want := range map[string]string{"a/b.go": "Go", "x.HPP": "C++", "Makefile": "Make", "q.sql": "SQL", "api.proto": "Protocol Buffers", "none.xyz": "", "": ""} {
		require.Equal(t, want, files.LanguageName(name), name)
	}
	require.Contains(t, files.Languages(), files.CanonicalLanguage("C++"))
}
