package taskfile

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// file is the shape of a document; its fields are read one by one.
type file struct {
	Defaults v1.TaskRequest   `json:"defaults"`
	Tasks    []v1.TaskRequest `json:"tasks"`
}

var (
	fileShape = reflect.TypeFor[file]()
	anything  = reflect.TypeFor[json.RawMessage]()
)

// shape refuses fields that a type does not have, and values that do not fit it. What is left out may be anywhere: that is not
// looked at here.
func (r *reader) shape(want reflect.Type, value any, pointer string) {
	if want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	if want == anything {
		return
	}
	switch want.Kind() {
	case reflect.Struct:
		if fields, ok := value.(map[string]any); ok {
			r.fields(want, fields, pointer)
			return
		}
		r.wrong(pointer, "%s has fields of its own: %s", nameOf(pointer), strings.Join(slices.Sorted(maps.Keys(fieldsOf(want))), ", "))
	case reflect.Map:
		if fields, ok := value.(map[string]any); ok {
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				r.shape(want.Elem(), fields[name], pointer+"/"+escaped(name))
			}
			return
		}
		r.wrong(pointer, "%s is names and values", nameOf(pointer))
	case reflect.Slice:
		if items, ok := value.([]any); ok {
			for i, item := range items {
				r.shape(want.Elem(), item, pointer+"/"+strconv.Itoa(i))
			}
			return
		}
		r.wrong(pointer, "%s is a list", nameOf(pointer))
	case reflect.String:
		if _, ok := value.(string); !ok {
			r.wrong(pointer, "%s is text; put quotes around it", nameOf(pointer))
		}
	default: // whole numbers are all that is left
		if !whole(value) {
			r.wrong(pointer, "%s is a whole number", nameOf(pointer))
		}
	}
}

func (r *reader) fields(want reflect.Type, fields map[string]any, pointer string) {
	known := fieldsOf(want)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		inside := pointer + "/" + escaped(name)
		if t, ok := known[name]; ok {
			r.shape(t, fields[name], inside)
			continue
		}
		r.wrong(inside, "there is no field %s here; there are: %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
}

// fieldsOf are the fields of a struct by their name in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	known := map[string]reflect.Type{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		known[name] = t.Field(i).Type
	}
	return known
}

// whole reports whether value, of a YAML or a JSON text, is a whole number that fits.
func whole(value any) bool {
	switch v := value.(type) {
	case uint64:
		return v <= math.MaxInt32
	case int64:
		return v >= math.MinInt32 && v <= math.MaxInt32
	case int:
		return v >= math.MinInt32 && v <= math.MaxInt32
	case json.Number:
		_, err := strconv.ParseInt(v.String(), 10, 32)
		return err == nil
	}
	return false
}

// nameOf is what a person calls the value at pointer.
func nameOf(pointer string) string {
	if pointer == "" {
		return "the file"
	}
	parts := strings.Split(pointer[1:], "/")
	last := strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[len(parts)-1])
	if _, err := strconv.Atoi(last); err != nil {
		return last
	}
	if len(parts) == 2 {
		return "a task"
	}
	return "each of " + parts[len(parts)-2]
}
