// Package savant holds what ships beside the code: workflows, prompts and
// schemas. A folder given by SAVANT_PATH overlays them file by file.
package savant

import "embed"

// Files are the bundled workflows/, prompts/, prompts.yml and schemas/.
//
//go:embed workflows/*.yaml prompts/*.md prompts.yml schemas/*.json
var Files embed.FS
