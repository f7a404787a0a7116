package settings

// Hub says what is done in the hub's pages.
type Hub struct {
	// Answers: what a workflow asks a person may be answered in a page.
	Answers bool
}

func hubRows() []Setting {
	return []Setting{
		{Flag: "hub-answers", Env: "SAVANT_HUB_ANSWERS", Key: "hub.answers", Kind: Switch, Default: "true",
			Doc: "a person may answer in the hub what a workflow asks", field: func(s *Settings) any { return &s.Hub.Answers }},
	}
}
