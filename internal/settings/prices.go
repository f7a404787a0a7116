package settings

import (
	"encoding/json"
	"errors"
	"strings"
)

// Price is what a million tokens of a model cost, in a currency of the person's
// choice.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

// Prices are those of models, by PROVIDER:NAME or by NAME alone. Without a tag, a name
// of Ollama means the tag latest, as it does there.
type Prices map[string]Price

// perPrice is how many tokens a price is for.
const perPrice = 1_000_000

// Cost returns what tokens of a model cost, and false where its price is not known.
func (p Prices) Cost(model string, promptTokens, outputTokens int) (cost float64, known bool) {
	provider, name, named := strings.Cut(model, ":")
	price, known := p[model]
	if !known && named {
		price, known = p[name]
	}
	if untagged, latest := strings.CutSuffix(name, ":latest"); !known && latest {
		return p.Cost(provider+":"+untagged, promptTokens, outputTokens)
	}
	return (price.Input*float64(promptTokens) + price.Output*float64(outputTokens)) / perPrice, known
}

var errPrices = errors.New(`prices by model, {"MODEL": {"input": NUMBER, "output": NUMBER}}, each a number from 0`)

// readPrices reads a list of prices; an empty text is an empty list.
func readPrices(text string) (Prices, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var given map[string]map[string]*float64
	if json.Unmarshal([]byte(text), &given) != nil || given == nil {
		return nil, errPrices
	}
	prices := Prices{}
	for model, members := range given {
		input, output := members["input"], members["output"]
		if strings.TrimSpace(model) == "" || len(members) != 2 || input == nil || output == nil || *input < 0 || *output < 0 {
			return nil, errPrices
		}
		prices[model] = Price{Input: *input, Output: *output}
	}
	return prices, nil
}
