package maintenance

import (
	"fmt"
	"maps"
	"slices"

	"savant/fault"
)

// volume counts what an import would hold of a run. An export counts the same, so that it
// can tell what could not be imported again. Errors are LIMIT_EXCEEDED.
type volume struct {
	bytes        int64
	resultValues int
}

// add counts the bytes of a part of the run.
func (v *volume) add(name string, size int64) error {
	if v.bytes += size; v.bytes > MaxImport {
		return tooLarge("with "+name+" the run has more bytes", MaxImport)
	}
	return nil
}

// addLine counts a line of the journal.
func (v *volume) addLine(number int, line []byte) error {
	switch name := lineName(number); {
	case number > maxRecords:
		return tooLarge("the run has more records", maxRecords)
	case len(line) > maxJournalLine:
		return tooLarge(name+" has more bytes", maxJournalLine)
	case countValues(line) > maxLineValues:
		return tooLarge(name+" has more JSON values", maxLineValues)
	default:
		return v.add(name, int64(len(line)))
	}
}

// addResult counts the values of a result that is an artifact.
func (v *volume) addResult(data []byte) error {
	if v.resultValues += countValues(data); v.resultValues > maxResultValues {
		return tooLarge("the results of the run have more JSON values", maxResultValues)
	}
	return nil
}

// importable returns why an import would refuse what an export has; nil if it would not.
func (a *archive) importable(lines [][]byte, manifestSize int) error {
	size := 0
	for _, line := range lines {
		size += len(line)
	}
	for _, data := range a.artifacts {
		size += len(data)
	}
	if size > MaxImport || len(lines) > maxRecords {
		return fault.New(fault.LimitExceeded, "the run has %d bytes in %d records, and an import takes %d bytes in %d records", size, len(lines), MaxImport, maxRecords)
	}
	if manifestSize > maxManifest {
		return tooLarge(manifestFile+" has more bytes", maxManifest)
	}
	var v volume
	for i, line := range lines {
		if err := v.addLine(i+1, line); err != nil {
			return err
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(a.artifacts)) {
		data := a.artifacts[digest]
		err := v.add(artifactsPart+digest, int64(len(data)))
		if err == nil && a.results[digest] {
			err = v.addResult(data)
		}
		if err != nil {
			return err
		}
	}
	if err := checkCount("artifacts", len(a.artifacts), maxArchiveFiles-1); err != nil {
		return err
	}
	return checkCount("checkpoints", len(a.checkpoints), maxCheckpoints)
}

func checkCount(what string, count, limit int) error {
	if count > limit {
		return tooLarge("the run has more "+what, int64(limit))
	}
	return nil
}

// countValues returns about how many values a JSON text has, never fewer.
func countValues(text []byte) int {
	count, quoted := 1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == '[' || c == '{'):
			count++
		}
	}
	return count
}

func lineName(number int) string { return fmt.Sprintf("%s, line %d", journalFile, number) }

func tooLarge(what string, limit int64) error {
	return fault.New(fault.LimitExceeded, "%s than an import takes, %d", what, limit)
}
