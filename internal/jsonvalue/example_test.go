package jsonvalue_test

import (
	"errors"
	"fmt"

	"savant/internal/jsonvalue"
)

// Read is for files that people write: what is wrong is said with its place.
func ExampleRead() {
	data := []byte("{\n  \"port\": \"80\"\n}")
	root, err := jsonvalue.Read(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	port := root.Lookup("/port")
	line, column := jsonvalue.Place(data, port.Offset)
	fmt.Printf("%d:%d: %s\n", line, column, port.Raw)

	_, err = jsonvalue.Read([]byte("{\n  \"port\": }"))
	var wrong *jsonvalue.Error
	if errors.As(err, &wrong) {
		line, column = jsonvalue.Place(data, wrong.Offset)
		fmt.Printf("%d:%d: %s\n", line, column, wrong)
	}
	// Output:
	// 2:11: "80"
	// 2:11: invalid character '}' at start of value
}

// Unmarshal reads into a struct; fields of type any keep their integers exact.
func ExampleUnmarshal() {
	var call struct {
		Tool string `json:"tool"`
		Args any    `json:"args"`
	}
	err := jsonvalue.Unmarshal([]byte(`{"tool":"git.log","args":{"limit":9007199254740993}}`), &call)
	fmt.Println(call.Tool, call.Args, err)
	// Output: git.log map[limit:9007199254740993] <nil>
}
