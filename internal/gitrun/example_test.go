package gitrun_test

import (
	"context"
	"fmt"
	"os"

	"savant/internal/gitrun"
)

func ExampleRun() {
	folder, err := os.MkdirTemp("", "repository")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	for _, args := range [][]string{{"init", "-q"}, {"rev-parse", "--is-inside-work-tree"}} {
		out, err := gitrun.Run(context.Background(), gitrun.Command{Folder: folder, Limit: 1 << 10, Args: args})
		fmt.Print(string(out.Data))
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output: true
}
