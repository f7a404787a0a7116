package packages

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The newest tag is a release of the same package of a repository.
func TestNewest(t *testing.T) {
	for _, each := range [][3]string{ // the tags, the own one, the newer one
		{"v1.9.0 v1.10.0 v2.0.0-rc.1", "v1.9.0", "v1.10.0"},
		{"v1.9.0 v2.0.0 v3.0.0-beta", "v2.0.0-rc.1", "v2.0.0"},
		{"ops/v1 ops/v2 web/v9 v7", "ops/v1", "ops/v2"},
		{"flows@1.0.0 flows@1.1.0 web@9.0.0", "flows@1.0.0", "flows@1.1.0"},
		{"@acme/x@1.0.0 @acme/x@2.0.0 @acme/y@3.0.0", "@acme/x@1.0.0", "@acme/x@2.0.0"},
		{"release-1.2 release-1.10 other-3", "release-1.2", "release-1.10"},
		{"2026.01.05 2026.02.01 2025.12.31", "2026.01.05", "2026.02.01"},
		{"1.0.0+build.7 v1.0.0", "v1.0.0", ""},
		{"v1 v2", "stable", ""},
		{"v2 nightly", "v2", ""},
	} {
		tag, newer := newest(strings.Fields(each[0]), each[1])
		require.Equal(t, each[2] != "", newer, each)
		if newer {
			require.Equal(t, each[2], tag, each)
		}
	}
}
