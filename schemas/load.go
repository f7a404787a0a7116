package schemas

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// errTooLarge is the error of a text over maxBytes.
var errTooLarge = fmt.Errorf("larger than %d KB", maxBytes>>10)

// Load is LoadFolder of the roots of layers.
func Load(layers ...fs.FS) (*Set, error) { return LoadFolder(".", layers...) }

// LoadFolder reads every *.json file of a folder in each layer. The name of a schema is
// the base name without ".json"; a later layer wins. A nil layer and a missing folder
// are empty. A file that is unreadable or not JSON keeps its name, see Broken. Named
// checks whether a file is a valid schema. An unreadable folder is
// YAML_SCHEMA_VIOLATION, because its names are unknown.
func LoadFolder(folder string, layers ...fs.FS) (*Set, error) {
	sources := map[string]source{}
	for _, layer := range layers {
		if layer == nil {
			continue
		}
		if err := loadLayer(layer, folder, sources); err != nil {
			return nil, err
		}
	}
	return &Set{sources: sources, compiled: newCache()}, nil
}

func loadLayer(layer fs.FS, folder string, into map[string]source) error {
	entries, err := fs.ReadDir(layer, folder)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if coded, is := errors.AsType[*fault.Error](err); is {
		return coded
	}
	if err != nil {
		return fault.New(fault.YAMLSchemaViolation, "the folder %s cannot be read: %w; make it readable, or move it away", folder, fault.WithoutPath(err))
	}
	for _, entry := range entries {
		name, isJSON := strings.CutSuffix(entry.Name(), ".json")
		if isJSON && name != "" && !entry.IsDir() && !strings.HasPrefix(name, ".") {
			into[name] = loadFile(layer, path.Join(folder, entry.Name()))
		}
	}
	return nil
}

func loadFile(layer fs.FS, file string) source {
	data, err := read(layer, file)
	if err != nil {
		unread := broken(file, 0, 0, "cannot be read: %w", fault.WithoutPath(err))
		unread.unread = true
		return unread
	}
	made, err := parseSource(data)
	if kind := jsonvalue.Kind(made.value); err == nil && kind != "object" && kind != "boolean" {
		err = fmt.Errorf("expected an object or a boolean, got %s", kind)
	}
	if err == nil {
		made.file = file
		return made
	}
	var syntax *jsonvalue.Error
	if errors.As(err, &syntax) {
		line, column := jsonvalue.Place(data, syntax.Offset)
		return broken(file, line, column, "not JSON: %w", syntax)
	}
	return broken(file, 0, 0, "not a schema: %w", err)
}

// read returns a file, or its beginning if it is longer than maxBytes.
func read(layer fs.FS, name string) ([]byte, error) {
	file, err := layer.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxBytes+1))
}

// broken returns the source of a file without a readable schema.
func broken(file string, line, column int, format string, because error) source {
	message := fmt.Errorf(format, because)
	where := file
	if line > 0 {
		where = fmt.Sprintf("%s:%d:%d", file, line, column)
	}
	return source{file: file, broken: fault.New(fault.YAMLSchemaViolation, "schema file %s: %w; correct it or remove it", where, message).
		With(fault.Diagnostic{File: file, Line: line, Column: column, Message: message.Error()})}
}
