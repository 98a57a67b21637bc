package taskfile

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// looksLikeLines reports whether the first line with something on it is a JSON object by itself.
func looksLikeLines(text string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.HasPrefix(first, "{") && json.Valid([]byte(first))
}

// json reads a text that is one JSON value: a batch, a list of tasks, or one task.
func (r *reader) json() any {
	value := r.value(r.text, 1, "")
	if fields, ok := value.(map[string]any); ok && fields["tasks"] == nil && fields["defaults"] == nil {
		r.places = r.places.below("/tasks/0")
		return map[string]any{"tasks": []any{value}}
	}
	return value
}

// jsonLines reads a task a line; empty lines are none.
func (r *reader) jsonLines() any {
	tasks := []any{}
	number := 0
	for line := range strings.Lines(r.text) {
		number++
		if strings.TrimSpace(line) == "" {
			continue
		}
		tasks = append(tasks, r.value(strings.TrimRight(line, "\r\n"), number, "/tasks/"+strconv.Itoa(len(tasks))))
	}
	return map[string]any{"tasks": tasks}
}

// value reads text, which begins at a line of the file, as one JSON value.
func (r *reader) value(text string, line int, pointer string) any {
	w := &walk{reader: r, text: text, line: line, decoder: json.NewDecoder(strings.NewReader(text))}
	w.decoder.UseNumber()
	value, err := w.value(pointer)
	if err == nil && strings.TrimSpace(text[w.decoder.InputOffset():]) != "" {
		err = errors.New("more behind the value")
	}
	if err != nil {
		at := w.decoder.InputOffset()
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = max(syntax.Offset-1, 0)
		}
		r.wrongAt(w.place(at), "this is not JSON")
	}
	return value
}

// walk reads a JSON text value by value, so that each one's place is known.
type walk struct {
	*reader
	text    string
	line    int
	decoder *json.Decoder
}

func (w *walk) place(offset int64) place {
	at := placeOf(w.text, int(offset))
	at.line += w.line - 1
	return at
}

// next is where the next token begins.
func (w *walk) next() place {
	at := w.decoder.InputOffset()
	for at < int64(len(w.text)) && strings.IndexByte(" \t\r\n,:", w.text[at]) >= 0 {
		at++
	}
	return w.place(at)
}

func (w *walk) value(pointer string) (any, error) {
	w.places[pointer] = w.next()
	token, err := w.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return w.object(pointer)
	case json.Delim('['):
		return w.list(pointer)
	}
	return token, nil
}

func (w *walk) object(pointer string) (any, error) {
	fields := map[string]any{}
	for w.decoder.More() {
		at := w.next()
		name, err := w.decoder.Token()
		if err != nil {
			return nil, err
		}
		key, _ := name.(string)
		inside := pointer + "/" + escaped(key)
		if _, twice := fields[key]; twice {
			w.wrongAt(at, "%s stands here for the second time", key)
		}
		value, err := w.value(inside)
		if err != nil {
			return nil, err
		}
		fields[key], w.places[inside] = value, at
	}
	_, err := w.decoder.Token() // the brace
	return fields, err
}

func (w *walk) list(pointer string) (any, error) {
	items := []any{}
	for w.decoder.More() {
		value, err := w.value(pointer + "/" + strconv.Itoa(len(items)))
		if err != nil {
			return nil, err
		}
		items = append(items, value)
	}
	_, err := w.decoder.Token() // the bracket
	return items, err
}

// escaped is a field's name as a part of a JSON pointer.
func escaped(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }
