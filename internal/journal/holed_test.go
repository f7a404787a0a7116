package journal

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHoledIsWholeSectorsOnly(t *testing.T) {
	const size = 4 * sector
	for _, c := range []struct {
		offset   int64
		from, to int
		want     bool
	}{
		{0, sector, 2 * sector, true},
		{0, sector, 3 * sector, true},
		{0, 0, sector, true},
		{100, 0, sector - 100, true}, // from the line's start to a sector's end
		{100, sector - 100, 2*sector - 100, true},
		{0, sector, sector + 1, false},
		{0, sector - 1, 2 * sector, false},
		{0, 7, 8, false},
		{0, 0, 0, false},
	} {
		line := bytes.Repeat([]byte("x"), size)
		clear(line[c.from:c.to])
		require.Equal(t, c.want, holed(line, c.offset), "%+v", c)
	}
}
