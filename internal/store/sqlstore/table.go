package sqlstore

import (
	"fmt"
	"slices"
	"strings"
)

// scanner reads the current row of a result.
type scanner func(dest ...any) error

// table is how the values of one type lie in their table: the columns are listed once, and every statement that names them
// is made from the list.
type table[T any] struct {
	columns func(*T) []column
	list    string // the columns, for SELECT, each with the table's alias
	insert  string
	update  string
}

// describe makes a table from its name, the alias that SELECT statements give it, and its columns.
func describe[T any](name, alias string, columns func(*T) []column) table[T] {
	var all, marks, sets, keys []string
	cols := columns(new(T))
	for i, c := range cols {
		all = append(all, c.name)
		marks = append(marks, fmt.Sprintf("$%d", i+1))
	}
	n := 0
	for _, c := range cols {
		if c.role == changes {
			n++
			sets = append(sets, fmt.Sprintf("%s = $%d", c.name, n))
		}
	}
	for _, c := range cols {
		if c.role == key {
			n++
			keys = append(keys, fmt.Sprintf("%s = $%d", c.name, n))
		}
	}
	return table[T]{
		columns: columns,
		list:    alias + "." + strings.Join(all, ", "+alias+"."),
		insert:  "INSERT INTO " + name + " (" + strings.Join(all, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")",
		update:  "UPDATE " + name + " SET " + strings.Join(sets, ", ") + " WHERE " + strings.Join(keys, " AND "),
	}
}

// scan reads one row, and after it what further dests name.
func (t table[T]) scan(read scanner, further func(*T) []any) (T, error) {
	var v T
	cols := t.columns(&v)
	dests := make([]any, 0, len(cols)+1)
	for _, c := range cols {
		dests = append(dests, c.field)
	}
	if further != nil {
		dests = append(dests, further(&v)...)
	}
	err := read(dests...)
	return v, err
}

// writing is a step that stores v; known says that the row is there already.
func (t table[T]) writing(v T, known bool) step {
	if known {
		return t.updating(v)
	}
	return t.inserting(v)
}

func (t table[T]) inserting(v T) step {
	return step{text: t.insert, args: values(t.columns(&v), nil), one: true}
}

func (t table[T]) updating(v T) step {
	cols := t.columns(&v)
	keys := slices.DeleteFunc(slices.Clone(cols), func(c column) bool { return c.role != key })
	changing := slices.DeleteFunc(cols, func(c column) bool { return c.role != changes })
	return step{text: t.update, args: values(changing, keys), one: true}
}

func values(first, then []column) []any {
	args := make([]any, 0, len(first)+len(then))
	for _, c := range first {
		args = append(args, c.value())
	}
	for _, c := range then {
		args = append(args, c.value())
	}
	return args
}
