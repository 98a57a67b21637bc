package sqlstore

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// A field ties one column to one part of a value, both ways. What it gives to the driver is an int64 or a string.
type field interface {
	sql.Scanner
	value() any
}

// column is a field with its name and what may become of it.
type column struct {
	name string
	role role
	field
}

type role int

const (
	key     role = iota // names the row
	fixed               // never changes
	changes             // may change
)

// number is an integer.
func number[T ~int | ~int64](p *T) field { return numberField[T]{p} }

type numberField[T ~int | ~int64] struct{ p *T }

func (f numberField[T]) value() any { return int64(*f.p) }

func (f numberField[T]) Scan(src any) error {
	n, ok := src.(int64)
	*f.p = T(n)
	return expect(ok, "an integer", src)
}

// text is a string.
func text[T ~string](p *T) field { return textField[T]{p} }

type textField[T ~string] struct{ p *T }

func (f textField[T]) value() any { return string(*f.p) }

func (f textField[T]) Scan(src any) error {
	s, ok := src.(string)
	*f.p = T(s)
	return expect(ok, "text", src)
}

// at is a point in time: microseconds since 1970, 0 for the zero time.
func at(p *time.Time) field { return timeField{p} }

type timeField struct{ p *time.Time }

func (f timeField) value() any { return micros(*f.p) }

func (f timeField) Scan(src any) error {
	n, ok := src.(int64)
	*f.p = ofMicros(n)
	return expect(ok, "a time", src)
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func ofMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// span is a duration: microseconds.
func span(p *time.Duration) field { return spanField{p} }

type spanField struct{ p *time.Duration }

func (f spanField) value() any { return f.p.Microseconds() }

func (f spanField) Scan(src any) error {
	n, ok := src.(int64)
	*f.p = time.Duration(n) * time.Microsecond
	return expect(ok, "a duration", src)
}

// raw is JSON that is kept as it came; nil is "".
func raw(p *json.RawMessage) field { return rawField{p} }

type rawField struct{ p *json.RawMessage }

func (f rawField) value() any { return string(*f.p) }

func (f rawField) Scan(src any) error {
	s, ok := src.(string)
	*f.p = nil
	if s != "" {
		*f.p = json.RawMessage(s)
	}
	return expect(ok, "text", src)
}

// list is a JSON array of strings; an empty one is "".
func list(p *[]string) field { return jsonField[[]string]{p, len(*p) == 0} }

// dict is a JSON object of strings; an empty one is "{}", so that LABELS can read it.
func dict(p *map[string]string) field { return dictField{p} }

type dictField struct{ p *map[string]string }

func (f dictField) value() any {
	if len(*f.p) == 0 {
		return "{}"
	}
	return encode(*f.p)
}

func (f dictField) Scan(src any) error {
	s, ok := src.(string)
	if !ok || s == "{}" {
		*f.p = nil
		return expect(ok, "text", src)
	}
	return json.Unmarshal([]byte(s), f.p)
}

// jsonField is any value as JSON; an empty one is "".
type jsonField[T any] struct {
	p     *T
	empty bool
}

func (f jsonField[T]) value() any {
	if f.empty {
		return ""
	}
	return encode(*f.p)
}

func (f jsonField[T]) Scan(src any) error {
	s, ok := src.(string)
	if !ok || s == "" {
		var zero T
		*f.p = zero
		return expect(ok, "text", src)
	}
	return json.Unmarshal([]byte(s), f.p)
}

// part is a field that is reached by functions.
type part[T int64 | string] struct {
	get func() T
	set func(T)
}

func (f part[T]) value() any { return f.get() }

func (f part[T]) Scan(src any) error {
	v, ok := src.(T)
	if ok {
		f.set(v)
	}
	return expect(ok, "another type", src)
}

func expect(ok bool, what string, src any) error {
	if ok {
		return nil
	}
	return fmt.Errorf("the database holds %T instead of %s", src, what)
}

// encode is for values that always have a JSON form: strings, numbers, and maps, lists and structs of them.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("sqlstore: encode a column: " + err.Error())
	}
	return string(b)
}
