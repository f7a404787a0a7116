package app

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithinNamesFilesFromTheFolder(t *testing.T) {
	for said, expected := range map[string]string{
		"open /a/b/logs/x.log: no":                   "open logs/x.log: no",
		"link /a/b/.savant/y /a/b/z: no, \"/a/b/w\"": "link .savant/y z: no, \"w\"",
		"/a/b/c":                     "c",
		"/a/bc/d":                    "/a/bc/d",
		"/x/a/b/c":                   "/x/a/b/c",
		"../a/b/c and é/a/b/c":       "../a/b/c and é/a/b/c",
		"the folder is /a/b":         "the folder is /a/b",
		"open /etc/passwd, nothing:": "open /etc/passwd, nothing:",
		"":                           "",
	} {
		require.Equal(t, expected, relativePaths("/a/b")(said))
	}
	require.Equal(t, "/a/b", relativePaths("/")("/a/b"))
	require.Equal(t, "/a/b", relativePaths("")("/a/b"))
	require.Equal(t, "/\xff/b", relativePaths("/\xff")("/\xff/b"))
}
