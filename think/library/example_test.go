package library_test

import (
	"fmt"
	"testing/fstest"

	"savant/think/library"
)

// A later layer overlays an earlier one; a version is found wherever it is.
func ExampleLibrary_Find() {
	file := func(version string) fstest.MapFS {
		return fstest.MapFS{"workflows/greet.yaml": {Data: []byte("name: greet\nversion: \"" + version + "\"\nsteps: [{id: hello, call: llm.generate, input_template: {task: Greet}}]\n")}}
	}
	workflows := library.New(library.Layer{Files: file("1.0")}, library.Layer{Files: file("2.0")})
	for _, name := range []string{"greet", "greet@1.0", "gret"} {
		found, err := workflows.Find(name, "")
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(found.Name, found.Version)
	}
	// Output:
	// greet 2.0
	// greet 1.0
	// UNKNOWN_WORKFLOW: no workflow "gret"; did you mean "greet"?
}
