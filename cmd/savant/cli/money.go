package cli

import "strconv"

// Money formats an amount with enough decimals to show it.
func Money(amount float64) string {
	if amount != 0 && amount < 0.01 {
		return strconv.FormatFloat(amount, 'g', 3, 64)
	}
	return strconv.FormatFloat(amount, 'f', 2, 64)
}
