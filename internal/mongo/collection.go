package mongo

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/sync/errgroup"
)

// Document is the value that a collection stores under a key.
type Document struct {
	// Key is unique in its collection.
	Key string
	// Nonce identifies the insert that wrote the document. Insert chooses one if it is
	// empty.
	Nonce string
	// Time is when the document was written, in milliseconds; zero means now.
	Time time.Time
	// Meta is a short text; Body is the value, stored in parts if it is large.
	Meta string
	Body []byte
}

// stored is a document as the server has it.
type stored struct {
	Key   string    `bson:"_id"`
	Nonce string    `bson:"nonce"`
	Time  time.Time `bson:"at"`
	Meta  string    `bson:"meta,omitempty"`
	Body  any       `bson:"body,omitempty"`
	// Parts is the number of parts of the body; 0 if Body holds it.
	Parts int `bson:"parts,omitempty"`
}

// Collection stores documents under unique keys.
type Collection struct {
	database         *Database
	documents, parts *driver.Collection
}

// Now is the time by the clock of this process.
func (c *Collection) Now() time.Time { return c.database.options.Now() }

// attempts is the number of attempts of a call whose connection breaks.
const attempts = 4

// Insert adds a document unless the key exists, and reports whether the stored document
// is this one, confirmed by a majority. It recognises by the nonce an insert of its own
// that was sent twice or whose answer was lost. After an error the document may be
// stored or not.
func (c *Collection) Insert(ctx context.Context, document Document) (won bool, err error) {
	document.Nonce = cmp.Or(document.Nonce, rand.Text())
	if document.Time.IsZero() {
		document.Time = c.database.options.Now()
	}
	row, err := c.split(ctx, document)
	if err != nil {
		return false, err
	}
	ctx, cancel := c.database.withTimeout(ctx)
	defer cancel()
	for attempt := 1; ; attempt++ {
		_, err := c.documents.InsertOne(ctx, row)
		if err == nil {
			return true, nil
		}
		if driver.IsDuplicateKeyError(err) {
			won, there, lost := c.ours(ctx, row)
			if there || lost != nil {
				return won, lost
			}
			err = errNotShown
		}
		if err = interrupted(ctx, err); attempt == attempts || !repeatable(err) {
			return false, c.database.failed(err)
		}
	}
}

// ours reports whether the stored document of a key is the inserted one, and whether
// there is one. It reads only what a majority has confirmed, so the document that
// prevented the insert may not be visible yet.
func (c *Collection) ours(ctx context.Context, row stored) (won, there bool, err error) {
	found, there, err := c.find(ctx, row.Key)
	won = there && found.Nonce == row.Nonce
	if there && !won && row.Parts > 0 {
		err = c.deleteParts(ctx, row)
	}
	return won, there, err
}

// Find returns the document of a key, and false if there is none.
func (c *Collection) Find(ctx context.Context, key string) (Document, bool, error) {
	row, there, err := c.find(ctx, key)
	if err != nil || !there {
		return Document{}, false, err
	}
	document, err := c.join(ctx, row)
	return document, err == nil, err
}

func (c *Collection) find(ctx context.Context, key string) (row stored, there bool, err error) {
	err = c.retry(ctx, func(ctx context.Context) error { return c.documents.FindOne(ctx, byKey(key)).Decode(&row) })
	if errors.Is(err, driver.ErrNoDocuments) {
		return stored{}, false, nil
	}
	return row, err == nil, c.database.failed(err)
}

// atOnce is the number of concurrent lookups.
const atOnce = 16

// FindAll returns the documents of keys, in the given order. A missing document has no
// Key.
func (c *Collection) FindAll(ctx context.Context, keys []string) ([]Document, error) {
	found := make([]Document, len(keys))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, key := range keys {
		group.Go(func() (err error) {
			found[i], _, err = c.Find(ctx, key)
			return err
		})
	}
	return found, group.Wait()
}

// Range calls visit with the whole documents whose keys are at least from and below to,
// sorted by key.
func (c *Collection) Range(ctx context.Context, from, to string, visit func(Document) error) error {
	return c.each(ctx, from, to, options.Find(), func(row stored) error {
		document, err := c.join(ctx, row)
		if errors.Is(err, ErrPartMissing) {
			document, err = row.document(), nil
		}
		if err != nil {
			return err
		}
		return visit(document)
	})
}

// Heads is Range without the bodies.
func (c *Collection) Heads(ctx context.Context, from, to string, visit func(Document) error) error {
	without := options.Find().SetProjection(bson.D{{Key: "body", Value: 0}})
	return c.each(ctx, from, to, without, func(row stored) error { return visit(row.document()) })
}

func (c *Collection) each(ctx context.Context, from, to string, how *options.FindOptionsBuilder, visit func(stored) error) error {
	within := bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: from}, {Key: "$lt", Value: to}}}}
	var cursor *driver.Cursor
	err := c.retry(ctx, func(ctx context.Context) (err error) {
		cursor, err = c.documents.Find(ctx, within, how.SetSort(bson.D{{Key: "_id", Value: 1}}))
		return err
	})
	if err != nil {
		return c.database.failed(err)
	}
	defer func() { _ = cursor.Close(context.WithoutCancel(ctx)) }()
	for cursor.Next(ctx) {
		var row stored
		if err := cursor.Decode(&row); err != nil {
			return c.database.failed(err)
		}
		if err := visit(row); err != nil {
			return err
		}
	}
	return c.database.failed(interrupted(ctx, cursor.Err()))
}

// Replace overwrites the document of a key, if it exists. Of two concurrent calls
// either may win. Use it only for values that can be computed again.
func (c *Collection) Replace(ctx context.Context, document Document) error {
	document.Nonce = cmp.Or(document.Nonce, rand.Text())
	if document.Time.IsZero() {
		document.Time = c.database.options.Now()
	}
	row := document.row()
	var before stored
	if len(document.Body) > partSize {
		var err error
		if before, _, err = c.find(ctx, document.Key); err != nil {
			return err
		}
		if row, err = c.writeParts(ctx, document); err != nil {
			return err
		}
	}
	err := c.retry(ctx, func(ctx context.Context) error {
		_, err := c.documents.ReplaceOne(ctx, byKey(row.Key), row, options.Replace().SetUpsert(true))
		if driver.IsDuplicateKeyError(err) { // another insert was first
			_, err = c.documents.ReplaceOne(ctx, byKey(row.Key), row)
		}
		return err
	})
	if err == nil && before.Parts > 0 {
		return c.deleteParts(ctx, before)
	}
	return c.database.failed(err)
}

// DeleteThis removes a document unless it was replaced, and reports whether it did.
func (c *Collection) DeleteThis(ctx context.Context, document Document) (gone bool, err error) {
	row, there, err := c.find(ctx, document.Key)
	if err != nil || !there || row.Nonce != document.Nonce {
		return false, err
	}
	this := append(byKey(row.Key), bson.E{Key: "nonce", Value: row.Nonce})
	deleted, err := c.documents.DeleteOne(ctx, this)
	if err != nil {
		return false, c.database.failed(err)
	}
	if gone = deleted.DeletedCount > 0; gone {
		err = c.deleteParts(ctx, row)
	}
	return gone, err
}

// Delete removes documents by their keys, one after the other.
func (c *Collection) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		row, there, err := c.find(ctx, key)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		err = c.retry(ctx, func(ctx context.Context) error {
			_, err := c.documents.DeleteOne(ctx, byKey(key))
			return err
		})
		if err == nil && row.Parts > 0 {
			err = c.deleteParts(ctx, row)
		}
		if err != nil {
			return c.database.failed(err)
		}
	}
	return nil
}

// retry repeats an idempotent call, within the time limit of one call.
func (c *Collection) retry(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := c.database.withTimeout(ctx)
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := interrupted(ctx, call(ctx))
		if err == nil || attempt == attempts || !repeatable(err) {
			return err
		}
	}
}

func byKey(key string) bson.D { return bson.D{{Key: "_id", Value: key}} }
