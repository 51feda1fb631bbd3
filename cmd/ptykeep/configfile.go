package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// flagSet is what a configuration file needs of the flags.
type flagSet interface {
	Changed(flag string) bool
	Set(flag, value string) error
}

// loadFile sets from the configuration file what is not set yet, and notes in
// source where each value comes from.
func (s *settings) loadFile(flags flagSet, source map[string]string) error {
	path, asked := s.config, true
	if path == "" {
		path, asked = defaultFile(), false
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return nil
	} else if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(doc.Content) == 0 {
		return nil // empty
	}
	return s.loadMapping(doc.Content[0], "", path, flags, source)
}

// defaultFile is where the file is looked for unasked (XDG base directories).
func defaultFile() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "ptykeep", "config.yaml")
}

// loadMapping sets the fields of one mapping; prefix is "" or like "sandbox.".
func (s *settings) loadMapping(node *yaml.Node, prefix, path string, flags flagSet, source map[string]string) error {
	where := fmt.Sprintf("%s:%d", path, node.Line)
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: wanted fields, like rows: 40", where)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		field := prefix + key.Value
		where := fmt.Sprintf("%s:%d", path, key.Line)
		var err error
		switch {
		case seen[field]:
			err = errors.New("is there twice")
		case prefix == "" && (field == "sandbox" || field == "env"):
			if err := s.loadMapping(value, field+".", path, flags, source); err != nil {
				return err
			}
		case !slices.Contains(fields, field):
			err = fmt.Errorf("is no field; there are: %s", strings.Join(fields, ", "))
		case flags.Changed(flagOf(field)): // by flag or variable, which win
		default:
			source[field] = where
			err = s.loadField(field, value, flags)
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", where, field, err)
		}
		seen[field] = true
	}
	return nil
}

// loadField sets one field.
func (s *settings) loadField(field string, value *yaml.Node, flags flagSet) error {
	switch field {
	case "shellArgs":
		return decode(value, &s.service.ShellArgs, "a list of strings")
	case "sandbox.writable":
		return decode(value, &s.service.Writable, "a list of directories")
	case "env.passthrough":
		return decode(value, &s.service.EnvPassthrough, "a list of names")
	case "env.set":
		return decode(value, &s.service.EnvSet, "NAME: value")
	}
	if value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
		return errors.New("wanted one value")
	}
	return flags.Set(flagOf(field), value.Value)
}

func decode(node *yaml.Node, into any, want string) error {
	if node.Tag == "!!null" || node.Decode(into) != nil {
		return fmt.Errorf("wanted %s", want)
	}
	return nil
}
