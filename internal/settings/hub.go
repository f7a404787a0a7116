package settings

// Hub configures the web page of runs.
type Hub struct {
	// Notify is the address that is told when a person is asked; empty: none. Secret signs
	// the messages.
	Notify, Secret string
}

// EnvHubSecret names the secret that signs what Notify is told.
const EnvHubSecret = "SAVANT_HUB_NOTIFY_SECRET"

func hubRows() []Setting {
	return []Setting{
		{Env: "SAVANT_HUB_NOTIFY", Key: "hub.notify", Kind: Address, Guarded: true,
			Doc: "address that the hub tells when a person is asked", field: func(s *Settings) any { return &s.Hub.Notify }},
		{Env: EnvHubSecret, Key: "hub.notify_secret", Secret: true, SentTo: "hub.notify", NotInFile: "is a secret",
			Doc: "secret that signs its messages: text, or `whsec_` and base64", field: func(s *Settings) any { return &s.Hub.Secret }},
	}
}
