package settings

// Hub says who may see the hub's pages, and what is done in them.
type Hub struct {
	// Answers: what a workflow asks a person may be answered in a page.
	Answers bool
	// Token lets in whoever has it.
	Token string
	// URL is the address that browsers use, where it is not the one that is listened at.
	URL string
}

func hubRows() []Setting {
	const notHere = "says who may see this folder"
	return []Setting{
		{Flag: "hub-answers", Env: "SAVANT_HUB_ANSWERS", Key: "hub.answers", Kind: Switch, Default: "true",
			Doc: "a person may answer in the hub what a workflow asks", field: func(s *Settings) any { return &s.Hub.Answers }},
		{Flag: "hub-token", Env: "SAVANT_HUB_TOKEN", Key: "hub.token", Secret: true, NotInFile: notHere,
			Doc: "token that opens the hub, so that it may listen at any address", field: func(s *Settings) any { return &s.Hub.Token }},
		{Flag: "hub-url", Env: "SAVANT_HUB_URL", Key: "hub.url", NotInFile: notHere,
			Doc: "address of the hub in a browser, as behind a proxy; by default the one that it listens at", field: func(s *Settings) any { return &s.Hub.URL }},
	}
}
