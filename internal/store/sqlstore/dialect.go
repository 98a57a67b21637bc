package sqlstore

import (
	"encoding/json"
	"regexp"
	"sync"
)

// A dialect turns a statement of the common subset into one database's own. The marks in our statements are
//
//	$1            the first argument
//	x IN [ q ]    x is among the rows of query q
//	EACH $1       the query whose rows are the strings of the list $1
//	CLOCK         the database's own clock in microseconds
//	LABELS(x)     the rows (key, value) of the JSON object in the text x
//	FIND(x, $1)   where the first argument is found in x in small ASCII letters, from 1; 0 when it is not
//	FOR UPDATE    lock the rows
type dialect struct {
	rules []rule
	// list is how a list argument is handed to the driver.
	list func([]string) any

	texts sync.Map // of statement to its translation: the statements are few, and always the same ones
}

type rule struct {
	mark *regexp.Regexp
	with string
}

// newSQLite makes the dialect of SQLite. Its driver binds $n by the order of first appearance, so that "$2, $1" would be
// swapped in silence; ?n is the argument's number.
func newSQLite() *dialect {
	return &dialect{
		rules: []rule{
			{regexp.MustCompile(`IN \[`), `IN (`},
			{regexp.MustCompile(`\]`), `)`},
			{regexp.MustCompile(`EACH (\$\d+)`), `SELECT value FROM json_each($1)`},
			{regexp.MustCompile(`CLOCK`), `0`},
			{regexp.MustCompile(`LABELS\(`), `json_each(`},
			{regexp.MustCompile(`FIND\((\w+\.\w+), `), `instr(lower($1), `},
			{regexp.MustCompile(` FOR UPDATE`), ``},
			{regexp.MustCompile(`\$(\d+)`), `?$1`},
		},
		list: func(items []string) any {
			text, err := json.Marshal(items)
			if err != nil {
				panic("sqlstore: a list of strings has no JSON: " + err.Error())
			}
			return string(text)
		},
	}
}

// newPostgres makes the dialect of PostgreSQL. A list becomes an array that is computed once, before the rows are looked
// for: a join with the list could be planned as a scan of the whole table.
func newPostgres() *dialect {
	return &dialect{
		rules: []rule{
			{regexp.MustCompile(`IN \[`), `= ANY (ARRAY (`},
			{regexp.MustCompile(`\]`), `))`},
			{regexp.MustCompile(`EACH (\$\d+)`), `SELECT unnest($1::text[])`},
			{regexp.MustCompile(`CLOCK`), `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`},
			{regexp.MustCompile(`LABELS\((\w+\.\w+)\)`), `json_each_text($1::json)`},
			{regexp.MustCompile(`FIND\((\w+\.\w+), `), `strpos(lower($1 COLLATE "C"), `},
		},
		list: func(items []string) any { return items },
	}
}

func (d *dialect) text(statement string) string {
	if text, ok := d.texts.Load(statement); ok {
		return text.(string)
	}
	text := d.translate(statement)
	d.texts.Store(statement, text)
	return text
}

func (d *dialect) translate(text string) string {
	for _, r := range d.rules {
		text = r.mark.ReplaceAllString(text, r.with)
	}
	return text
}

// args replaces lists by what the driver takes for them.
func (d *dialect) args(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		if list, ok := arg.([]string); ok {
			arg = d.list(list)
		}
		out[i] = arg
	}
	return out
}
