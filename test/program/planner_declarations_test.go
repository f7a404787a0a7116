package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestADeclarationAnswersAQuestionAboutItsName asks about constants and fields that are
// declared without a keyword, where other files mention them more often.
func TestADeclarationAnswersAQuestionAboutItsName(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder := t.TempDir()
	for name, text := range map[string]string{
		"codes.go": "// Package wire has what goes over the wire.\npackage wire\n\n// Answer is what a server says.\ntype Answer struct {\n\tCode int\n" +
			"\t// DisableColour leaves the colours of a terminal out.\n\tDisableColour bool\n}\n\nconst (\n\t// PARSE_ERROR says that a message is no JSON.\n" +
			"\tPARSE_ERROR = -32700\n\n\t// METHOD_NOT_FOUND says that there is no such method.\n\tMETHOD_NOT_FOUND = -32601\n)\n",
		"serve.go": "package wire\n\n// Serve answers with METHOD_NOT_FOUND as its code, the code of a method that is not found.\nfunc Serve(method string) Answer {\n" +
			"\tcode := METHOD_NOT_FOUND // the code\n\treturn Answer{Code: code, DisableColour: true}\n}\n",
		"README.md": "# Wire\n\nA server answers with the code METHOD_NOT_FOUND where it has no such method.\n\nSet DisableColour for terminals without colour. It is an extension.\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	for question, first := range map[string]string{
		"What is the code of METHOD_NOT_FOUND?": "1. codes.go:16, METHOD_NOT_FOUND\n   > codes.go:15: \t// METHOD_NOT_FOUND says that there is no such method.\n   > codes.go:16: \tMETHOD_NOT_FOUND = -32601\n",
		"What does DisableColour do?":           "1. codes.go:8, DisableColour\n   > codes.go:7: \t// DisableColour leaves the colours of a terminal out.\n   > codes.go:8: \tDisableColour bool\n",
		"Is there an Emacs extension?":          "Not found: \"Emacs\".\nNothing fits \"Is there an Emacs extension?\" well; nearest:\n",
	} {
		var stdout, stderr strings.Builder
		run(t.Context(), []string{"run", "--quiet", question}, []string{"SAVANT_PATH=" + folder, "LLM_PROVIDER=offline", "XDG_CACHE_HOME=" + t.TempDir(),
			"PATH=" + os.Getenv("PATH")}, strings.NewReader(""), &stdout, &stderr)
		require.Contains(t, stdout.String(), first, stderr.String())
	}
}
