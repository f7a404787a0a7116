package settings

// Hub configures the web page: who may see it, and what it may do.
type Hub struct {
	// Answers: a person may answer a workflow's questions on a page.
	Answers bool
	// Token gives access to its bearer.
	Token string
	// URL is the address for browsers, if it differs from the address to listen at.
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
