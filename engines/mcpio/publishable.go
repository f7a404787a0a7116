package mcpio

import "savant/engines"

// Publishable reports what would keep a tool out of the registry, or out of
// every list: one that clients choke on is better left out than published. The
// code is VALIDATION_FAILED, or that of engines.Tool.Check.
func Publishable(tool engines.Tool) error {
	if err := tool.Check(); err != nil {
		return err
	}
	_, err := publishTool(tool)
	return err
}
