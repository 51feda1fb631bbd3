package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ptykeep/ptykeep/ptyservice"
)

// arguments reads a call's arguments strictly: each field has to be asked for
// by name and type, and what nobody asked for is refused at the end. The first
// fault is kept. The JSON schemas say the same to the model; a test holds the
// two together.
type arguments struct {
	fields map[string]json.RawMessage
	asked  []string
	err    error
}

func parseArguments(raw json.RawMessage) *arguments {
	a := &arguments{fields: map[string]json.RawMessage{}}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" { // some clients send null for none
		return a
	}
	if err := json.Unmarshal(raw, &a.fields); err != nil || a.fields == nil {
		a.err = fmt.Errorf("%w: arguments: not a JSON object", ptyservice.ErrInvalid)
	}
	return a
}

// fail keeps the first fault of a field.
func (a *arguments) fail(field, format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf("%w: %s: %s", ptyservice.ErrInvalid, field, fmt.Sprintf(format, args...))
	}
}

// get decodes a field into value and reports whether it is there.
func (a *arguments) get(field string, value any, want string) bool {
	a.asked = append(a.asked, field)
	raw, ok := a.fields[field]
	if !ok {
		return false
	}
	if bytes.Equal(raw, []byte("null")) || json.Unmarshal(raw, value) != nil {
		a.fail(field, "is %s, wanted %s", short(raw), want)
		return false
	}
	return true
}

// short shows a value in an error without repeating a long one.
func short(raw json.RawMessage) string {
	if len(raw) > 40 {
		return strings.ToValidUTF8(string(raw[:37]), "") + "..."
	}
	return string(raw)
}

// str returns a string field, "" without it.
func (a *arguments) str(field string) string {
	if p := a.optional(field); p != nil {
		return *p
	}
	return ""
}

// optional returns a string field, nil without it.
func (a *arguments) optional(field string) *string {
	var s string
	if !a.get(field, &s, "a string") {
		return nil
	}
	return &s
}

// required returns a string field that has to be there and not empty.
func (a *arguments) required(field string) string {
	s := a.str(field)
	if s == "" {
		a.fail(field, "is missing, wanted a string")
	}
	return s
}

// flag returns a boolean field.
func (a *arguments) flag(field string, otherwise bool) bool {
	b := otherwise
	a.get(field, &b, "true or false")
	return b
}

// number returns an integer field within its bounds, and whether it is there.
func (a *arguments) number(field string, low, high int64) (int64, bool) {
	var n json.Number
	want := fmt.Sprintf("an integer %d-%d", low, high)
	if high == math.MaxInt64 {
		want = fmt.Sprintf("an integer from %d on", low)
	}
	if !a.get(field, &n, want) {
		return 0, false
	}
	raw := a.fields[field]
	v, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil { // JSON Schema counts 3.0 and 3e2 as integers
		f, ferr := n.Float64()
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			a.fail(field, "is %s, wanted %s", short(raw), want)
			return 0, false
		}
		v = int64(f)
	}
	if raw[0] == '"' || v < low || v > high {
		a.fail(field, "is %s, wanted %s", short(raw), want)
		return 0, false
	}
	return v, true
}

// timeout returns a field of milliseconds, nil without it.
func (a *arguments) timeout(field string) *time.Duration {
	ms, ok := a.number(field, 0, ptyservice.MaxTimeout.Milliseconds())
	if !ok {
		return nil
	}
	d := time.Duration(ms) * time.Millisecond
	return &d
}

// pattern returns a field with a regular expression, nil without it.
func (a *arguments) pattern(field string) *regexp.Regexp {
	s := a.optional(field)
	if s == nil {
		return nil
	}
	if _, err := regexp.Compile(*s); err != nil { // first without ours, for the error
		a.fail(field, "%v (wanted RE2 syntax)", err)
		return nil
	}
	re, err := regexp.Compile("(?m)" + *s)
	if err != nil {
		a.fail(field, "%v", err)
	}
	return re
}

// oneOf returns a string field with one of the given values; the first is what
// it is without the field.
func (a *arguments) oneOf(field string, values ...string) string {
	s := a.optional(field)
	if s == nil {
		return values[0]
	}
	if !slices.Contains(values, *s) {
		a.fail(field, "is %q, wanted one of %s", *s, strings.Join(values, ", "))
	}
	return *s
}

// list returns a field with an array of strings, nil without it.
func (a *arguments) list(field string) []string {
	const want = `an array of strings, like ["python3","-q"]`
	var items []*string // of which null would be "" else
	if !a.get(field, &items, want) {
		return nil
	}
	list := []string{}
	for _, s := range items {
		if s == nil {
			a.fail(field, "has null, wanted %s", want)
			return nil
		}
		list = append(list, *s)
	}
	return list
}

// object returns a field with an object of strings, nil without it.
func (a *arguments) object(field string) map[string]string {
	var values map[string]*string
	if !a.get(field, &values, "an object of strings") {
		return nil
	}
	m := map[string]string{}
	for name, s := range values {
		if s == nil {
			a.fail(field, "has null for %q, wanted an object of strings", name)
			return nil
		}
		m[name] = *s
	}
	return m
}

// nested returns a field with an object, to be read as arguments are; nil
// without it.
func (a *arguments) nested(field string) *arguments {
	var raw json.RawMessage
	if !a.get(field, &raw, "an object") {
		return nil
	}
	n := parseArguments(raw)
	if n.err != nil {
		a.fail(field, "is %s, wanted an object", short(raw))
	}
	return n
}

// done returns the first fault, after refusing fields that nobody asked for.
func (a *arguments) done() error {
	for _, name := range slices.Sorted(maps.Keys(a.fields)) {
		if !slices.Contains(a.asked, name) {
			known := "none"
			if len(a.asked) > 0 {
				known = strings.Join(a.asked, ", ")
			}
			a.fail(short(json.RawMessage(name)), "unknown field, accepted are: %s", known)
		}
	}
	return a.err
}
