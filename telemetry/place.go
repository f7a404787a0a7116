package telemetry

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"savant/internal/ownfolder"
)

// Place is the position of a line in the trace: its offset in a file, which is
// identified by its first line. It survives a rename of the file.
type Place struct {
	File   string
	At     int64
	Length int // including the line break
}

// String formats a place: FILE:OFFSET:LENGTH.
func (p Place) String() string {
	return p.File + ":" + strconv.FormatInt(p.At, 10) + ":" + strconv.Itoa(p.Length)
}

// ParsePlace parses the format of String; false for any other text.
func ParsePlace(text string) (Place, bool) {
	fields := strings.Split(text, ":")
	if len(fields) != 3 {
		return Place{}, false
	}
	at, wrong := strconv.ParseInt(fields[1], 10, 64)
	length, wrongToo := strconv.Atoi(fields[2])
	return Place{fields[0], at, length}, wrong == nil && wrongToo == nil && at >= 0 && length > 0 && length <= 2*maxLine
}

// window is how much of a file is read at once for consecutive places.
const window = 256 << 10

// ReadAt calls each for the lines at places, with their index in places, until it returns
// false. It omits lines whose file no longer exists or that are not at their place. A
// line is only valid during the call. Consecutive places of a file are read together.
func (r *Recorder) ReadAt(places []Place, each func(number int, line []byte) bool) error {
	files, err := r.traceFiles()
	if err != nil {
		return err
	}
	defer files.close()
	reading := map[string]*windowed{}
	for _, file := range files {
		reading[file.id] = &windowed{file: file}
	}
	for i, place := range places {
		from := reading[place.File]
		if from == nil {
			continue
		}
		line, err := from.line(place)
		if err != nil {
			return ownfolder.NotRead(from.file.name, err)
		}
		if line != nil && !each(i, line) {
			return nil
		}
	}
	return nil
}

// windowed is a file with the part that was read.
type windowed struct {
	file traceFile
	at   int64
	part []byte
}

// line returns the line at a place; nil if there is no such line.
func (w *windowed) line(place Place) ([]byte, error) {
	from := place.At - w.at
	if from < 0 || from+int64(place.Length) > int64(len(w.part)) {
		buffer := w.part[:cap(w.part)]
		wanted := place.Length
		if w.part != nil { // a second line is needed, so the next ones probably are, too
			wanted = max(wanted, window)
		}
		if len(buffer) < wanted {
			buffer = make([]byte, wanted)
		}
		n, err := w.file.ReadAt(buffer[:wanted], place.At)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		w.at, w.part, from = place.At, buffer[:n], 0
	}
	if from+int64(place.Length) > int64(len(w.part)) {
		return nil, nil
	}
	line := w.part[from : from+int64(place.Length)]
	whole := line[len(line)-1] == '\n' && (place.At == 0 || from == 0 || w.part[from-1] == '\n')
	if !whole {
		return nil, nil
	}
	return line, nil
}
