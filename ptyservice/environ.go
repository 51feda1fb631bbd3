package ptyservice

import (
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
)

// environ makes a child's environment from the server's: without secrets,
// without what belongs to the server or to its own terminal, with a terminal
// type and with pagers that do not stop. EnvSet and explicit are added as
// given. withheld are the names that the secret filter kept back.
func environ(base []string, c Config, explicit map[string]string, tag string) (env, withheld []string) {
	vars := map[string]string{}
	for _, kv := range base {
		name, value, ok := strings.Cut(kv, "=")
		switch {
		case !ok || name == "" || ofServer(name):
		case secret(name) && !slices.Contains(c.EnvPassthrough, name):
			withheld = append(withheld, name)
		default:
			vars[name] = value
		}
	}
	complete(vars)
	vars["TERM"] = terminalType(vars)
	vars["PAGER"], vars["GIT_PAGER"] = "cat", "cat"
	maps.Copy(vars, c.EnvSet)
	maps.Copy(vars, explicit)
	vars["PTYKEEP_SESSION"] = tag
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	slices.Sort(withheld)
	return env, slices.DeleteFunc(withheld, func(name string) bool { _, set := vars[name]; return set })
}

// complete adds what a login would have set and a client that starts servers
// with next to nothing leaves out: without HOME cd fails, without a UTF-8 locale
// programs take their own text for bytes.
func complete(vars map[string]string) {
	if vars["HOME"] == "" {
		if u, err := user.Current(); err == nil && u.HomeDir != "" {
			vars["HOME"] = u.HomeDir
		}
	}
	if vars["LC_ALL"] != "" || vars["LC_CTYPE"] != "" || vars["LANG"] != "" {
		return
	}
	for _, dir := range []string{"/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8", "/usr/share/locale/C.UTF-8"} {
		if _, err := os.Stat(dir); err == nil {
			vars["LANG"] = "C.UTF-8"
			return
		}
	}
}

// secret reports a name that looks like a credential.
// Broad on purpose: a variable too few is seen at once, one too many never.
func secret(name string) bool {
	upper := strings.ToUpper(name)
	for _, part := range []string{"KEY", "PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "TOKEN", "CREDENTIAL"} {
		if strings.Contains(upper, part) {
			return true
		}
	}
	if strings.HasSuffix(upper, "PASS") { // PGPASS
		return true
	}
	return slices.ContainsFunc(strings.Split(upper, "_"), func(word string) bool {
		return word == "PASS" || word == "PAT" || word == "AUTH"
	})
}

// ofServer reports what concerns the server or the terminal it runs in.
func ofServer(name string) bool {
	switch name {
	case "TMUX", "STY", "COLUMNS", "LINES":
		return true
	}
	return strings.HasPrefix(strings.ToUpper(name), "PTYKEEP_") ||
		strings.HasPrefix(name, "TERM_PROGRAM") || strings.HasPrefix(name, "VTE_")
}

// terminalType returns the best TERM whose terminfo entry this host has, for
// the emulator of package screen. See terminfo(5) for the places.
func terminalType(vars map[string]string) string {
	dirs := []string{"/etc/terminfo", "/lib/terminfo", "/usr/lib/terminfo", "/usr/share/terminfo", "/usr/local/share/terminfo", "/opt/homebrew/share/terminfo"}
	if home := vars["HOME"]; home != "" {
		dirs = append(dirs, filepath.Join(home, ".terminfo"))
	}
	if d := vars["TERMINFO"]; d != "" {
		dirs = append(dirs, d)
	}
	for _, term := range []string{"xterm-256color", "xterm", "vt100"} {
		for _, dir := range dirs {
			// Entries lie under their first letter, on macOS under its code.
			for _, sub := range []string{term[:1], hexOf(term[0])} {
				if _, err := os.Stat(filepath.Join(dir, sub, term)); err == nil {
					return term
				}
			}
		}
	}
	return "xterm-256color" // no terminfo at all: what programs with built-in knowledge expect
}

func hexOf(b byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[b>>4], digits[b&15]})
}
