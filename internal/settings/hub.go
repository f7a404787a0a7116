package settings

// Hub configures the web page of runs.
type Hub struct {
	// Notify is the address that is told when a person is asked; empty: none. What follows
	// its # is the secret that signs the messages.
	Notify string
}

func hubRows() []Setting {
	return []Setting{
		{Env: "SAVANT_HUB_NOTIFY", Key: "hub.notify", Kind: Address, Guarded: true,
			Doc: "address that the hub tells when a person is asked, and after # the secret that signs its messages: text, or `whsec_` and base64", field: func(s *Settings) any { return &s.Hub.Notify }},
	}
}
