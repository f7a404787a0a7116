package redact

import "strings"

// eachColumn calls yield for the values of a table in lines whose head names a secret, as
// in CSV: what stands below "password" is one, whatever it looks like. literal leaves out
// what stands for another value, and words below the name of a token or a key.
func eachColumn(text string, literal bool, yield func(from, to int) bool) {
	var secrets map[int]string // the names, by their column
	columns, sign := 0, byte(0)
	for from := 0; from < len(text); {
		to := len(text)
		if next := strings.IndexByte(text[from:], '\n'); next >= 0 {
			to = from + next
		}
		line := strings.TrimSuffix(text[from:to], "\r")
		begin := from
		if line != "" && (line[0] == '+' || line[0] == '-') { // of a diff
			begin, line = begin+1, line[1:]
		}
		from = to + 1
		if columns > 0 {
			if fields := fieldsOf(line, sign); len(fields) == columns {
				for i, name := range secrets {
					if value := line[fields[i].from:fields[i].to]; value != "" && (!literal || isColumnSecret(name, value)) && !yield(begin+fields[i].from, begin+fields[i].to) {
						return
					}
				}
				continue
			}
		}
		columns = 0
		if sign = separator(line); sign != 0 {
			if secrets = secretColumns(line, sign); len(secrets) > 0 {
				columns = strings.Count(line, string(sign)) + 1
			}
		}
	}
}

// separator returns what separates the names in the head of a table. It returns 0 if the line is no such head.
func separator(line string) (found byte) {
	for i := range len(line) {
		switch c := line[i]; {
		case headBytes[c]:
		case (c == ',' || c == ';' || c == '\t') && i > 0 && (found == 0 || found == c):
			found = c
		default:
			return 0
		}
	}
	return found
}

var headBytes = bytesOf(letters + digits + "_-\"")

func secretColumns(line string, sign byte) map[int]string {
	found, column := map[int]string{}, 0
	for name := range strings.SplitSeq(line, string(sign)) {
		if name = strings.Trim(name, `"`); SecretName(name) {
			found[column] = name
		}
		column++
	}
	return found
}

// fieldsOf returns the places of the values of a line, without their quotes.
func fieldsOf(line string, sign byte) (all []span) {
	for at := 0; ; at++ {
		from := at
		if at < len(line) && line[at] == '"' {
			for at++; at < len(line) && (line[at] != '"' || at+1 < len(line) && line[at+1] == '"'); at++ {
				if line[at] == '"' {
					at++
				}
			}
			all = append(all, span{from + 1, min(at, len(line))})
			at++
		}
		for at < len(line) && line[at] != sign {
			at++
		}
		if from == len(line) || line[from] != '"' {
			all = append(all, span{from, at})
		}
		if at >= len(line) {
			return all
		}
	}
}

func isColumnSecret(name, value string) bool {
	if isPlaceholder(value) || placeholder[value[0]] || len(value) <= shortest {
		return false
	}
	return strings.Contains(strings.ToLower(name), "pass") || mixed(value) && !areWords(value)
}
