package maintenance

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think"
	"savant/think/library"
	"savant/think/state"
)

const exportedWorkflow = `name: w
version: "1"
steps:
  - {id: a, call: llm.generate, input_template: {task: A}, capture_as: a}
  - {id: b, call: llm.generate, input_template: {task: B}, capture_as: b}
artifacts: [{name: all, type: json, from: "[a, b]"}]
`

// exporter returns an engine over a new folder, and its keeper.
func exporter(t testing.TB) (*think.Engine, *Keeper) {
	store, err := state.Open(t.TempDir(), state.Options{})
	require.NoError(t, err)
	files := fstest.MapFS{"workflows/w.yaml": {Data: []byte(exportedWorkflow)}}
	engine := think.New(think.Options{Library: library.New(library.Layer{Files: files}), Store: store, Now: time.Now, NewID: func() string { return "id" }})
	t.Cleanup(func() {
		engine.Close()
		require.NoError(t, store.Close())
	})
	return engine, New(engine, store)
}

// exported returns the file of a run that is done, with a checkpoint.
func exported(t testing.TB) []byte {
	ctx := context.Background()
	engine, keeper := exporter(t)
	_, err := engine.Plan(ctx, think.PlanInput{Workflow: "w", RunID: "r"})
	require.NoError(t, err)
	_, err = engine.Reset(ctx, think.ResetInput{RunID: "r", Save: "start-again"})
	require.NoError(t, err)
	for _, step := range []string{"a", "b"} {
		_, err = engine.Next(ctx, think.NextInput{RunID: "r", StepID: step, ResultSnapshot: json.RawMessage(`"` + strings.Repeat(step, 9000) + `"`)})
		require.NoError(t, err)
	}
	var out bytes.Buffer
	_, err = keeper.Export(ctx, state.Key{Workflow: "w", Run: "r"}, &out)
	require.NoError(t, err)
	return out.Bytes()
}

// packed is one file of an archive.
type packed struct {
	header tar.Header
	data   []byte
}

func unpack(t testing.TB, data []byte) []packed {
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	files := tar.NewReader(zipped)
	var all []packed
	for {
		header, err := files.Next()
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		data, err := io.ReadAll(files)
		require.NoError(t, err)
		all = append(all, packed{*header, data})
	}
}

func pack(t testing.TB, all []packed) []byte {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	files := tar.NewWriter(zipped)
	for _, each := range all {
		each.header.Size = int64(len(each.data))
		if each.header.Typeflag != tar.TypeReg {
			each.header.Size = 0
		}
		require.NoError(t, files.WriteHeader(&each.header))
		if each.header.Size > 0 {
			_, err := files.Write(each.data)
			require.NoError(t, err)
		}
	}
	require.NoError(t, files.Close())
	require.NoError(t, zipped.Close())
	return out.Bytes()
}

// restated makes the manifest say what the files are, after a change to it and
// to them: what is left is a file that is consistent in itself.
func restated(t testing.TB, all []packed, edit func(*manifest)) []packed {
	var m manifest
	require.NoError(t, json.Unmarshal(all[0].data, &m))
	m.Files = nil
	for _, each := range all[1:] {
		m.Files = append(m.Files, manifestItem{each.header.Name, int64(len(each.data)), jsonvalue.HexSum(each.data)})
	}
	edit(&m)
	var err error
	all[0].data, err = json.Marshal(m)
	require.NoError(t, err)
	return all
}

func TestImportRefusesHostileFiles(t *testing.T) {
	good := exported(t)
	same := func(*manifest) {}
	extra := packed{tar.Header{Name: "artifacts/" + jsonvalue.HexSum([]byte("x")), Typeflag: tar.TypeReg, Mode: 0o600}, []byte("x")}
	for name, c := range map[string]struct {
		code fault.Code
		make func(all []packed) []packed
	}{
		"no files":        {fault.InvalidParams, func([]packed) []packed { return nil }},
		"manifest only":   {fault.InvalidParams, func(all []packed) []packed { return all[:1] }},
		"manifest absent": {fault.InvalidParams, func(all []packed) []packed { return all[1:] }},
		"a file missing":  {fault.InvalidParams, func(all []packed) []packed { return all[:len(all)-1] }},
		"a file twice":    {fault.InvalidParams, func(all []packed) []packed { return append(all, all[2]) }},
		"twice, as said": {fault.InvalidParams, func(all []packed) []packed {
			return restated(t, append(all, all[len(all)-1]), same)
		}},
		"another order": {fault.InvalidParams, func(all []packed) []packed {
			all[2], all[3] = all[3], all[2]
			return restated(t, all, same)
		}},
		"a path": {fault.InvalidParams, func(all []packed) []packed {
			all[2].header.Name = "artifacts/../../../x"
			return restated(t, all, same)
		}},
		"an absolute path": {fault.InvalidParams, func(all []packed) []packed { all[1].header.Name = "/journal"; return all }},
		"a link": {fault.InvalidParams, func(all []packed) []packed {
			all[1].header.Typeflag, all[1].header.Linkname = tar.TypeSymlink, "/etc/passwd"
			return all
		}},
		"an artifact nobody names": {fault.InvalidParams, func(all []packed) []packed {
			return restated(t, sortedFiles(append(all, extra)), same)
		}},
		"a newer format": {fault.InvalidParams, func(all []packed) []packed { return restated(t, all, func(m *manifest) { m.Format = 2 }) }},
		"no format":      {fault.InvalidParams, func(all []packed) []packed { return restated(t, all, func(m *manifest) { m.Format = 0 }) }},
		"a member twice": {fault.InvalidParams, func(all []packed) []packed {
			all[0].data = append([]byte(`{"run":"another",`), all[0].data[1:]...)
			return all
		}},
		"a member of a file twice": {fault.InvalidParams, func(all []packed) []packed {
			all[0].data = []byte(strings.Replace(string(all[0].data), `"sha256":`, `"sha256":"x","sha256":`, 1))
			return all
		}},
		"a run that climbs": {fault.InvalidParams, func(all []packed) []packed { return restated(t, all, func(m *manifest) { m.Run = "../r" }) }},
		"another run":       {fault.StateCorrupt, func(all []packed) []packed { return restated(t, all, func(m *manifest) { m.Run = "s" }) }},
		"another end":       {fault.StateCorrupt, func(all []packed) []packed { return restated(t, all, func(m *manifest) { m.Version = 9 }) }},
		"a checkpoint ahead": {fault.InvalidParams, func(all []packed) []packed {
			return restated(t, all, func(m *manifest) { m.Checkpoints[0].Version = 9 })
		}},
		"a checkpoint that climbs": {fault.InvalidParams, func(all []packed) []packed {
			return restated(t, all, func(m *manifest) { m.Checkpoints[0].Name = "../c" })
		}},
		"a changed artifact": {fault.StateCorrupt, func(all []packed) []packed { all[2].data[0] ^= 1; return all }},
		"an artifact less": {fault.StateCorrupt, func(all []packed) []packed {
			return restated(t, all[:len(all)-1], same)
		}},
		"a changed record": {fault.StateCorrupt, func(all []packed) []packed {
			all[1].data = bytes.Replace(all[1].data, []byte(`"step":"a"`), []byte(`"step":"b"`), 1)
			return restated(t, all, same)
		}},
		"no record": {fault.InvalidParams, func(all []packed) []packed { all[1].data = nil; return restated(t, all, same) }},
	} {
		t.Run(name, func(t *testing.T) {
			_, keeper := exporter(t)
			_, err := keeper.Import(t.Context(), bytes.NewReader(pack(t, c.make(unpack(t, good)))))
			require.ErrorIs(t, err, c.code)
			requireNothing(t, keeper)
		})
	}
}

func sortedFiles(all []packed) []packed {
	last := len(all) - 1
	for at := last; at > 2 && all[at].header.Name < all[at-1].header.Name; at-- {
		all[at], all[at-1] = all[at-1], all[at]
	}
	return all
}

// requireNothing: nothing of a refused file is to be seen.
func requireNothing(t testing.TB, keeper *Keeper) {
	keys, err := keeper.dir.Keys(context.Background())
	require.NoError(t, err)
	require.Empty(t, keys)
	collected, err := keeper.dir.GCArtifacts(context.Background(), 0, true)
	require.NoError(t, err)
	require.Zero(t, collected)
}

func recordsOf(t testing.TB, journal []byte) (records []state.Record) {
	for line := range bytes.Lines(journal) {
		var record state.Record
		require.NoError(t, json.Unmarshal(line, &record))
		records = append(records, record)
	}
	return records
}

// TestImportRefusesAForgedChain: records that were sealed anew, so that the
// chain holds, do not replay.
func TestImportRefusesAForgedChain(t *testing.T) {
	all := unpack(t, exported(t))
	records := recordsOf(t, all[1].data)
	key, last := state.Key{Workflow: "w", Run: "r"}, state.Link{}
	var forged []byte
	for _, record := range records {
		if record.Version == 2 {
			record.State = strings.Repeat("0", 64)
		}
		sealed, line, err := state.Seal(key, last, record, time.Now())
		require.NoError(t, err)
		forged = append(append(forged, line...), '\n')
		last = state.Link{Version: sealed.Version, Hash: sealed.Hash}
	}
	all[1].data = forged
	_, keeper := exporter(t)
	_, err := keeper.Import(t.Context(), bytes.NewReader(pack(t, restated(t, all, func(m *manifest) { m.Hash = last.Hash }))))
	require.ErrorIs(t, err, fault.StateCorrupt)
	require.ErrorContains(t, err, "record 2")
	requireNothing(t, keeper)
}

// TestImportRefusesWhatFollows: nothing may come after the archive, and every
// shortened file is refused.
func TestImportRefusesWhatFollows(t *testing.T) {
	good := exported(t)
	_, keeper := exporter(t)
	_, err := keeper.Import(t.Context(), bytes.NewReader(append(bytes.Clone(good), good...)))
	require.ErrorIs(t, err, fault.InvalidParams)
	all := unpack(t, good)
	_, more := keeper.Import(t.Context(), bytes.NewReader(pack(t, append(all, all[1]))))
	require.ErrorIs(t, more, fault.InvalidParams)
	for length := 0; length < len(good); length += 7 {
		_, err := keeper.Import(t.Context(), bytes.NewReader(good[:length]))
		require.Error(t, err, "%d of %d bytes", length, len(good))
		require.NotEqual(t, more.Error(), err.Error(), "a shortened file is not one with more files")
	}
	requireNothing(t, keeper)
	_, err = keeper.Import(t.Context(), bytes.NewReader(good))
	require.NoError(t, err)
}

// FuzzImport: whatever a file holds, verifying it ends, in a run or in an error
// with a code.
func FuzzImport(f *testing.F) {
	good := exported(f)
	var plain bytes.Buffer
	zipped, err := gzip.NewReader(bytes.NewReader(good))
	require.NoError(f, err)
	_, err = io.Copy(&plain, zipped)
	require.NoError(f, err)
	f.Add(plain.Bytes())
	f.Add(plain.Bytes()[:4096])
	_, keeper := exporter(f)
	f.Fuzz(func(t *testing.T, files []byte) {
		var file bytes.Buffer
		zipped := gzip.NewWriter(&file) // the checksum is not what is to be found
		_, err := zipped.Write(files)
		require.NoError(t, err)
		require.NoError(t, zipped.Close())
		packed, err := readArchive(&file)
		if err == nil {
			err = keeper.verifyArchive(t.Context(), packed)
		}
		if err != nil {
			require.Contains(t, []fault.Code{fault.InvalidParams, fault.StateCorrupt, fault.LimitExceeded}, fault.From(err).Code)
		}
	})
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestExportThatCannotBeWrittenIsReportedOnce(t *testing.T) {
	run, err := readArchive(bytes.NewReader(exported(t)))
	require.NoError(t, err)
	_, err = run.write(fullDisk{})
	require.ErrorIs(t, err, fault.StateNotSaved)
	require.Equal(t, 1, strings.Count(err.Error(), "the disk is full"), "the cause: %v", err)
}
