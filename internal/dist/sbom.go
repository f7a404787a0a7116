package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// SPDX 2.3, the parts that a list of Go modules needs
// (spdx.github.io/spdx-spec/v2.3, clauses 6, 7 and 11).
type spdxDocument struct {
	Version           string             `json:"spdxVersion"`
	License           string             `json:"dataLicense"`
	ID                string             `json:"SPDXID"`
	Name              string             `json:"name"`
	Namespace         string             `json:"documentNamespace"`
	Creation          spdxCreation       `json:"creationInfo"`
	Packages          []spdxPackage      `json:"packages"`
	Relationships     []spdxRelationship `json:"relationships"`
	DocumentDescribes []string           `json:"documentDescribes"`
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Version       string         `json:"versionInfo"`
	Download      string         `json:"downloadLocation"`
	FilesAnalyzed bool           `json:"filesAnalyzed"`
	Concluded     string         `json:"licenseConcluded"`
	Declared      string         `json:"licenseDeclared"`
	Copyright     string         `json:"copyrightText"`
	Checksums     []spdxChecksum `json:"checksums,omitempty"`
	References    []spdxRef      `json:"externalRefs,omitempty"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// sbom lists the modules that the linker put into the program, read from the
// program itself.
func (r release) sbom(t target, program file, _ []file) error {
	info, err := buildinfo.Read(bytes.NewReader(program.data))
	if err != nil {
		return fmt.Errorf("read the modules of the program: %w", err)
	}
	digest := sha256.Sum256(program.data)
	root := spdxPackage{ID: "SPDXRef-savant", Name: "savant", Version: r.Version, Download: "NOASSERTION",
		Concluded: "NOASSERTION", Declared: "MIT", Copyright: "NOASSERTION",
		Checksums: []spdxChecksum{{"SHA256", hex.EncodeToString(digest[:])}}}
	document := spdxDocument{Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT",
		Name:      fmt.Sprintf("savant-%s-%s-%s", r.Version, t.OS, t.Arch),
		Namespace: "https://spdx.org/spdxdocs/savant-" + hex.EncodeToString(digest[:]),
		Creation:  spdxCreation{Created: r.Time.Format(time.RFC3339), Creators: []string{"Tool: savant-dist"}},
		Packages:  []spdxPackage{root}, DocumentDescribes: []string{root.ID},
		Relationships: []spdxRelationship{{"SPDXRef-DOCUMENT", "DESCRIBES", root.ID}}}
	modules := append([]*debug.Module{{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}}, info.Deps...)
	for i, module := range modules {
		if module.Replace != nil {
			module = module.Replace
		}
		id := fmt.Sprintf("SPDXRef-module-%d", i)
		document.Packages = append(document.Packages, spdxPackage{ID: id, Name: module.Path, Version: module.Version,
			Download: "NOASSERTION", Concluded: "NOASSERTION", Declared: "NOASSERTION", Copyright: "NOASSERTION",
			References: []spdxRef{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + module.Path + "@" + module.Version}}})
		document.Relationships = append(document.Relationships, spdxRelationship{root.ID, "DEPENDS_ON", id})
	}
	return writeJSON(r.name("savant", t, ".spdx.json"), document)
}

func writeJSON(path string, value any) error {
	data, err := indented(value)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

func indented(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return text.Bytes(), err
}
