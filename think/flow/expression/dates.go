package expression

import "savant/internal/calendar"

const secondsPerDay = 86_400

// date returns the seconds from 1970 to a date, so that dates can be compared. Its second
// argument is a layout in the form of Go: "02.01.2006".
func date(e *evaluation) any {
	layout := ""
	if e.has(1) {
		layout = e.str(1)
	}
	return e.moment(e.str(0), layout)
}

// days returns the days from a date to another, with a fraction where there is one.
func days(e *evaluation) any { return e.from(secondsPerDay) }

// seconds returns the seconds from a date to another.
func seconds(e *evaluation) any { return e.from(1) }

// from returns the difference of two dates, each a text or what date gives.
func (e *evaluation) from(unit int) any {
	moments := [2]any{}
	for i := range moments {
		moments[i] = e.args[i]
		if text, is := e.args[i].(string); is {
			moments[i] = e.moment(text, "")
		} else if !isNumber(operand(e.args[i])) {
			e.needs(i, "a date")
			return nil
		}
	}
	if e.err != nil {
		return nil
	}
	e.args = []any{e.compute(subtract, operand(moments[1]), operand(moments[0])), unit}
	if e.err != nil {
		return nil
	}
	return division(e)
}

func (e *evaluation) moment(text, layout string) any {
	if e.err != nil || !e.scan(len(text)) {
		return nil
	}
	whole, rest, err := calendar.Parse(text, layout)
	if err != nil {
		e.fail("%s cannot read %s as a date: %s", e.sourceName(), quote(text), err)
		return nil
	}
	if rest == 0 {
		return int(whole)
	}
	return float64(whole) + float64(rest)/1e9
}
