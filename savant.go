// Package savant embeds the bundled workflows, prompts and schemas. Files below
// SAVANT_PATH overlay them one by one.
package savant

import "embed"

// Files are the bundled workflows/, prompts/, prompts.yml and schemas/.
//
//go:embed workflows/*.yaml prompts/*.md prompts.yml schemas/*.json
var Files embed.FS
