package index_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// After many changes an index has few segments and answers as a new one does.
func TestManyChangesMakeFewSegments(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var out strings.Builder
		for range 1 + random.IntN(30) {
			fmt.Fprintf(&out, "w%d größe_%d 検索 ", random.IntN(40), random.IntN(9))
		}
		return out.String()
	}
	ix := open(t, folder, cache)
	for round := range 15 {
		for range 1 + random.IntN(20) {
			write(t, folder, fmt.Sprintf("d%d/f%d.txt", random.IntN(3), random.IntN(60)), text())
		}
		refresh(t, ix)
		if round%5 == 4 {
			require.NoError(t, ix.Close())
			ix = open(t, folder, cache)
			refresh(t, ix)
		}
	}
	fresh := open(t, folder, t.TempDir())
	refresh(t, fresh)
	for word := range 40 {
		for _, query := range []string{"w%d", "w%d*", "w%d größe_1 NOT größe2", `"検索 w%d"`, "(w%d OR größe_3) 検索", "where is w%d?"} {
			asked := words(fmt.Sprintf(query, word))
			asked.Literal, asked.Limit = !strings.HasSuffix(query, "?"), 50
			require.Equal(t, search(t, fresh, asked), search(t, ix, asked), asked.Text)
		}
	}
	db, err := sql.Open("sqlite", filepath.ToSlash(database(t, cache)))
	require.NoError(t, err)
	defer db.Close()
	var segments int
	require.NoError(t, db.QueryRow("SELECT count(*) FROM segments").Scan(&segments))
	require.LessOrEqual(t, segments, 12)
}

// A search rebuilds an index whose blocks are damaged, wherever they are.
func TestDamagedBlocks(t *testing.T) {
	folder := t.TempDir()
	for i := range 300 {
		write(t, folder, fmt.Sprintf("f%d.txt", i), fmt.Sprintf("needle word%d\n", i))
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 8 {
		cache := built(t, folder)
		db, err := sql.Open("sqlite", filepath.ToSlash(database(t, cache)))
		require.NoError(t, err)
		var block []byte
		var id int
		require.NoError(t, db.QueryRow("SELECT rowid, data FROM blocks ORDER BY random() LIMIT 1").Scan(&id, &block))
		block = block[:random.IntN(len(block)+1)]
		for i := range block {
			block[i] ^= byte(random.IntN(256))
		}
		_, err = db.Exec("UPDATE blocks SET data = ? WHERE rowid = ?", block, id)
		require.NoError(t, err)
		require.NoError(t, db.Close())
		ix := open(t, folder, cache)
		for _, query := range []string{"needle", "word77", "w*"} {
			_, err := ask(ix, expression(query))
			require.NoError(t, err)
		}
		write(t, folder, "f1.txt", fmt.Sprint("needle again ", random.Int()))
		refresh(t, ix)
	}
}
