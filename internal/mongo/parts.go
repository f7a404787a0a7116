package mongo

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
)

// partSize is the maximum size of a body in one document, and of a part, in bytes. A
// document of MongoDB has at most 16 MB.
const partSize = 8 << 20

// ErrPartMissing means that a part of a document is missing.
var ErrPartMissing = errors.New("a part of a document is missing")

// split returns the row to store for a document. It writes the parts of a large body
// first, unless the key already exists.
func (c *Collection) split(ctx context.Context, document Document) (stored, error) {
	if len(document.Body) <= partSize {
		return document.row(), nil
	}
	if _, there, err := c.find(ctx, document.Key); err != nil || there {
		return document.row().head(), err
	}
	return c.writeParts(ctx, document)
}

// writeParts writes the parts of a large body, under the document's nonce.
func (c *Collection) writeParts(ctx context.Context, document Document) (stored, error) {
	row := document.row().head()
	for rest := document.Body; len(rest) > 0; row.Parts++ {
		size := cut(rest)
		part := stored{Key: row.part(row.Parts), Nonce: row.Nonce, Time: row.Time, Meta: row.Key, Body: value(rest[:size])}
		rest = rest[size:]
		err := c.retry(ctx, func(ctx context.Context) error {
			_, err := c.parts.InsertOne(ctx, part)
			if driver.IsDuplicateKeyError(err) { // the nonce is unique, so this call wrote it
				return nil
			}
			return err
		})
		if err != nil {
			return stored{}, c.database.failed(err)
		}
	}
	return row, nil
}

// row returns the row to store for a document without a large body.
func (d Document) row() stored {
	return stored{Key: d.Key, Nonce: d.Nonce, Time: d.Time.UTC(), Meta: d.Meta, Body: value(d.Body)}
}

// head returns a row without its body.
func (s stored) head() stored {
	s.Body = nil
	return s
}

// cut returns where the first part ends, at a character boundary.
func cut(body []byte) int {
	if len(body) <= partSize {
		return len(body)
	}
	for size := partSize; size > partSize-utf8.UTFMax; size-- {
		if utf8.RuneStart(body[size]) {
			return size
		}
	}
	return partSize
}

// value returns a body as a string, which people can read, or as bytes if it is not
// text.
func value(body []byte) any {
	if utf8.Valid(body) {
		return string(body)
	}
	return body
}

func bytesOf(value any) []byte {
	switch value := value.(type) {
	case string:
		return []byte(value)
	case []byte:
		return value
	case bson.Binary:
		return value.Data
	}
	return nil
}

// part returns the key of a part, counted from 0.
func (s stored) part(number int) string { return fmt.Sprintf("%s/%04d", s.Nonce, number) }

// document returns a row without the parts.
func (s stored) document() Document {
	return Document{Key: s.Key, Nonce: s.Nonce, Time: s.Time, Meta: s.Meta, Body: bytesOf(s.Body)}
}

// join returns a row with its parts.
func (c *Collection) join(ctx context.Context, row stored) (Document, error) {
	document := row.document()
	for number := range row.Parts {
		var part stored
		err := c.retry(ctx, func(ctx context.Context) error { return c.parts.FindOne(ctx, byKey(row.part(number))).Decode(&part) })
		if errors.Is(err, driver.ErrNoDocuments) {
			return Document{}, fmt.Errorf("%s: %w", row.Key, ErrPartMissing)
		}
		if err != nil {
			return Document{}, c.database.failed(err)
		}
		document.Body = append(document.Body, bytesOf(part.Body)...)
	}
	return document, nil
}

func (c *Collection) deleteParts(ctx context.Context, row stored) error {
	for number := range row.Parts {
		err := c.retry(ctx, func(ctx context.Context) error {
			_, err := c.parts.DeleteOne(ctx, byKey(row.part(number)))
			return err
		})
		if err != nil {
			return c.database.failed(err)
		}
	}
	return nil
}
