package index_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"savant/engines/repo/index"
)

func Example() {
	folder, err := os.MkdirTemp("", "project")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	if err := os.WriteFile(filepath.Join(folder, "greet.go"), []byte("package greet\n\nfunc SayHello() {}\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	ix, err := index.Open(ctx, index.Options{Folder: folder, CacheFolder: filepath.Join(folder, ".savant", "cache")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ix.Close()
	query, err := index.Parse(index.Query{Text: "where do we say hello?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := ix.Find(ctx, query, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range found.Rows {
		fmt.Printf("%s:%d %s\n", row.Path, row.Line, row.Snippet)
	}
	// Output: greet.go:3 func SayHello() {}
}
