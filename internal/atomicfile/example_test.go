package atomicfile_test

import (
	"fmt"
	"os"

	"savant/internal/atomicfile"
)

// A file is replaced whole, durably, and nothing is left beside it.
func Example() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		return
	}
	defer os.RemoveAll(folder)
	root, err := os.OpenRoot(folder)
	if err != nil {
		return
	}
	defer root.Close()
	for _, text := range []string{"old", "new"} {
		if err := atomicfile.Write(root, "settings", []byte(text), 0o600); err != nil {
			fmt.Println(err)
		}
	}
	text, err := root.ReadFile("settings")
	fmt.Println(string(text), err)
	// Output: new <nil>
}
