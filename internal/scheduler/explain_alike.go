package scheduler

import "strings"

// maxSpelt is the longest text, in runes, that is compared letter by letter.
const maxSpelt = 64

// alike says whether a person may have meant known by asked, and how far they are apart: 0 is another case only. A letter
// too many, too few or wrong counts one, and so do two that changed places.
func alike(asked, known string) (distance int, ok bool) {
	asked, known = strings.ToLower(asked), strings.ToLower(known)
	a, b := []rune(asked), []rune(known)
	most := max(1, (len(a)+1)/3)
	part := len(a) >= 3 && len(b) >= 3 && (strings.Contains(asked, known) || strings.Contains(known, asked))
	switch {
	case asked == known:
		return 0, true
	case len(a) > maxSpelt || len(b) > maxSpelt || max(len(a)-len(b), len(b)-len(a)) > most:
		return most + 1, part
	}
	distance = edits(a, b)
	return distance, distance <= most || part
}

// edits counts the least number of changes that make b of a.
func edits(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
