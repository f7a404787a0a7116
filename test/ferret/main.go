// Command ferret is a database server for tests. It speaks the protocol of MongoDB
// over FerretDB and SQLite, prints the URI it listens on, and runs until its
// standard input ends or it gets SIGINT or SIGTERM.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ferret:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("ferret", flag.ContinueOnError)
	data := flags.String("data", "", "the folder of the databases, which must exist")
	listen := flags.String("listen", "127.0.0.1:0", "the TCP address to listen on; port 0 takes a free one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *data == "" {
		return errors.New("name the folder of the databases: ferret -data FOLDER")
	}
	folder, err := filepath.Abs(*data)
	if err != nil {
		return err
	}
	server, err := ferretdb.New(&ferretdb.Config{
		Listener: ferretdb.ListenerConfig{TCP: *listen},
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Handler:  "sqlite",
		// A database in memory would block for ever; FerretDB wants the slash.
		SQLiteURL: "file:" + folder + "/",
	})
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		defer end()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	go (&indexed{folder: folder, databases: map[string]*sql.DB{}, known: map[string]bool{}}).run(ctx)
	go func() { fmt.Println(server.MongoDBURI()) }() // it waits until the server listens
	return server.Run(ctx)
}
