package sessions

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"savant/engines"
	"savant/internal/jsonvalue"
	"savant/schemas"
)

// maxResult bounds the result of a call that is kept for the rules. A longer one is null
// for them, so that a condition about it is not judged.
const maxResult = 1 << 20

// bare returns the result of a call as rules see it: the structured content, unwrapped
// where its schema has the member result alone; else the text as JSON, else the text.
func bare(tool engines.Tool, ended engines.Ended) any {
	if len(ended.JSON) > maxResult {
		return nil
	}
	value, err := jsonvalue.DecodeStored(ended.JSON)
	if err != nil {
		return nil
	}
	if content, is := ended.Value.(engines.Content); is {
		blocks, _ := jsonvalue.DecodeStored(content.Blocks)
		list, _ := blocks.([]any)
		text := schemas.ContentText(list)
		object, _ := value.(map[string]any)
		if _, plain := object["text"].(string); len(content.Structured) == 0 || len(object) == 1 && plain && object["text"] == text {
			return schemas.WithoutReceipt(ofText(text))
		}
	}
	value = schemas.WithoutReceipt(value)
	object, _ := value.(map[string]any)
	if result, wrapped := object["result"]; wrapped && len(object) == 1 && wraps(tool.OutputSchema()) {
		return result
	}
	return value
}

// ofText returns what a result says that is a text: the JSON in it, also in a fenced block, else
// the text as it is.
func ofText(text string) any {
	if value := schemas.Normalise(text); jsonvalue.Kind(value) != "string" {
		return value
	}
	return jsonvalue.TextOrValue(text)
}

// wraps reports whether a schema is of an object with the member result alone.
func wraps(output json.RawMessage) bool {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(output, &schema) != nil {
		return false
	}
	return len(schema.Properties) == 1 && schema.Properties["result"] != nil
}

// fingerprint returns a text that changes with the files of rules.
func fingerprint(files fs.FS) string {
	names, err := Files(files, false)
	if err != nil {
		return err.Error()
	}
	var all strings.Builder
	for _, name := range names {
		info, err := fs.Stat(files, path.Clean(name))
		if err != nil {
			fmt.Fprintln(&all, name, err)
			continue
		}
		fmt.Fprintln(&all, name, info.Size(), info.ModTime().UnixNano(), info.Mode())
	}
	return all.String()
}
