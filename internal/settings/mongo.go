package settings

// Where runs are kept.
const (
	StoreFile  = "file"
	StoreMongo = "mongo"
)

// Mongo says where the database is that several machines share.
type Mongo struct {
	// URI is a connection string; Host is HOST or HOST:PORT, used without a URI.
	URI, Host string
	// Environment ends the name of the database, unless the URI names one.
	Environment string
}

// storeKey is the setting that says where runs are kept.
const storeKey = "store"

// EnvMongoURI is the variable that messages name.
const EnvMongoURI = "MONGO_URI"

func mongoRows() []Setting {
	return []Setting{
		{Flag: "store", Env: "SAVANT_STORE", Key: storeKey, Default: StoreFile, Allowed: []string{StoreFile, StoreMongo}, Guarded: true,
			Doc: "where runs are kept: file, the folder .savant, or mongo, a database that several machines share", field: func(s *Settings) any { return &s.Store }},
		{Flag: "mongo-uri", Env: EnvMongoURI, Key: "mongo.uri", Kind: Address, Guarded: true,
			Doc: "connection string of MongoDB; a database that it names is used whatever SAVANT_ENV is", field: func(s *Settings) any { return &s.Mongo.URI }},
		{Env: "MONGO_HOST", Key: "mongo.host", Guarded: true,
			Doc: "host of MongoDB, or HOST:PORT, where there is no MONGO_URI", field: func(s *Settings) any { return &s.Mongo.Host }},
		{Env: "SAVANT_ENV", Key: "env", Default: "development", Allowed: []string{"development", "test"},
			Doc: "environment: the database of MongoDB is savant_development or savant_test", field: func(s *Settings) any { return &s.Mongo.Environment }},
	}
}
