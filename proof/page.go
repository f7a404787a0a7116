package proof

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"

	"savant/fault"
)

//go:embed page.html
var pageFrame []byte

//go:embed page.js
var pageCode []byte

// Page returns one HTML file that has the file of a proof in it, checks it with the
// browser's own cryptography, and shows it. It loads nothing; its policy allows no code
// but its own.
func Page(file []byte) ([]byte, error) {
	if _, _, ok := unpack(file); !ok || bytes.ContainsRune(file, '<') {
		return nil, fault.New(fault.InvalidParams, "the file is no proof")
	}
	sum := sha256.Sum256(pageCode)
	out := bytes.Replace(pageFrame, []byte("{{script}}"), []byte("sha256-"+base64.StdEncoding.EncodeToString(sum[:])), 1)
	out = bytes.Replace(out, []byte("{{code}}"), pageCode, 1)
	return bytes.Replace(out, []byte("{{proof}}"), file, 1), nil
}
