package mongo

import (
	"cmp"
	"errors"
	"net/url"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Address says where the database is.
type Address struct {
	// URI is a connection string, mongodb:// or mongodb+srv://. If it names a database,
	// Environment is not used.
	URI string
	// Host is HOST or HOST:PORT, used if there is no URI.
	Host string
	// Environment is the suffix of the database name: savant_development, savant_test.
	Environment string
}

// ErrNoAddress means that neither a URI nor a host was given.
var ErrNoAddress = errors.New("no database address is set: set MONGO_URI, such as mongodb://127.0.0.1:27017/, or MONGO_HOST")

// errURI repeats nothing of the URI, which may contain a password.
var errURI = errors.New("MONGO_URI is not a connection string: expected mongodb://HOST:PORT/DATABASE")

// uri returns the connection string.
func (a Address) uri() (string, error) {
	switch {
	case a.URI != "":
		if !strings.HasPrefix(a.URI, "mongodb://") && !strings.HasPrefix(a.URI, "mongodb+srv://") {
			return "", errURI
		}
		return a.URI, nil
	case a.Host == "":
		return "", ErrNoAddress
	case strings.ContainsAny(a.Host, "/@?"):
		return "", errors.New("MONGO_HOST is HOST or HOST:PORT; use MONGO_URI for anything else")
	}
	return (&url.URL{Scheme: "mongodb", Host: a.Host, Path: "/"}).String(), nil
}

// database returns the name of the database.
func (a Address) database(named string) string {
	return cmp.Or(named, "savant_"+cmp.Or(a.Environment, "development"))
}

// hosts returns the servers of a connection for messages, without user and password.
func hosts(of *options.ClientOptions) string { return strings.Join(of.Hosts, ",") }
