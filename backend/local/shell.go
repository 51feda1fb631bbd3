package local

import (
	"embed"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ptykeep/ptykeep/backend"
)

// shellFiles are the start-up scripts, one a kind of shell.
//
//go:embed shell
var shellFiles embed.FS

// shellKinds are the shells that can draw our marks, by the base name of the
// program. Each function returns ok false for arguments that do not start an
// interactive shell, or that are not understood.
var shellKinds = map[string]func(*shellStart) (ok bool, err error){
	"bash":    startBash,
	"zsh":     startZsh,
	"fish":    startFish,
	"sh":      startPosix,
	"dash":    startPosix,
	"ash":     startPosix,
	"ksh":     startPosix,
	"ksh93":   startPosix,
	"mksh":    startPosix,
	"busybox": startBusybox,
}

// shellStart is a shell about to be started; a function of shellKinds changes
// argv and env to what installs the marks.
type shellStart struct {
	argv  []string
	env   []string
	login bool   // argv[0] began with "-"
	name  string // base name of the program as it was called
	real  string // the same of what it is, past symbolic links
	nonce string
	dir   string
}

// integrate returns the argv and environment that start spec's shell with our
// marks, and writes the start-up files for it into dir, which exists, has mode
// 0700, belongs to this session and may be removed once the first prompt was
// drawn. spec.Nonce must not be "". A program that is no shell we know, or a
// shell started with arguments that make it non-interactive, gets spec.Argv
// and spec.Env unchanged.
//
// A mark is ESC ] 6973 ; nonce ; kind ; ... BEL with the kinds
//
//	D;status;pid;cwd  a prompt begins; the command before ended with status
//	B;pid             the prompt is complete
//	C;pid             a command starts, its output follows
//	P;pid             a continuation prompt begins; a B may end it
//
// where pid is $$ of the shell that draws it and cwd, the rest of the payload,
// is empty when it could not be written in one. The nonce is only in the files
// in dir (mode 0600) and in variables of the shell that are not exported: never
// in an environment, an argument, or a prompt's text.
func integrate(spec backend.Spec, dir string) (argv, env []string, err error) {
	if len(spec.Argv) == 0 {
		return spec.Argv, spec.Env, nil
	}
	s := &shellStart{
		argv:  append([]string(nil), spec.Argv...),
		env:   append([]string(nil), spec.Env...),
		nonce: spec.Nonce,
		dir:   dir,
	}
	// login(1) and terminals ask for a login shell this way. What is executed
	// is the program; the start functions add the flag or do its work.
	if program, cut := strings.CutPrefix(s.argv[0], "-"); cut {
		s.argv[0], s.login = program, true
	}
	s.name = path.Base(s.argv[0])
	s.real = s.name
	if file, err := filepath.EvalSymlinks(s.lookPath(spec.Dir)); err == nil {
		s.real = path.Base(file)
	}
	kind := s.name
	if kind == "sh" && s.real == "bash" {
		kind = s.real // it has PS0, called as sh too
	}
	start, known := shellKinds[kind]
	if !known {
		return spec.Argv, spec.Env, nil
	}
	ok, err := start(s)
	if err != nil || !ok {
		return spec.Argv, spec.Env, err
	}
	return s.argv, s.env, nil
}

// lookPath finds the program as execvp(3) would with this environment.
func (s *shellStart) lookPath(dir string) string {
	name := s.argv[0]
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name
	}
	list, _ := s.getenv("PATH")
	for _, d := range filepath.SplitList(list) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		file := filepath.Join(d, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return name
}

// getenv returns the last value of a variable: that is the one which shells
// and getenv(3) of a rebuilt environment see.
func (s *shellStart) getenv(key string) (value string, set bool) {
	for _, kv := range s.env {
		if v, ok := strings.CutPrefix(kv, key+"="); ok {
			value, set = v, true
		}
	}
	return value, set
}

// setenv sets a variable and drops all earlier values.
func (s *shellStart) setenv(key, value string) {
	kept := s.env[:0]
	for _, kv := range s.env {
		if !strings.HasPrefix(kv, key+"=") {
			kept = append(kept, kv)
		}
	}
	s.env = append(kept, key+"="+value)
}

// write puts a script of ours into the session's directory, with assignments
// in front of it, and returns its path.
func (s *shellStart) write(name, script string, assign []string) (string, error) {
	text, err := shellFiles.ReadFile("shell/" + script)
	if err != nil {
		return "", err
	}
	file := filepath.Join(s.dir, name)
	head := strings.Join(assign, "\n") + "\n"
	return file, os.WriteFile(file, append([]byte(head), text...), 0o600)
}

// secret is the beginning of every Bourne-like script: allexport, which would
// export what we assign, is put off until the script is done, and what an
// outer environment may have under our names is no longer exported.
func (s *shellStart) secret() []string {
	return []string{
		"unset __ptykeep_a __ptykeep_nonce",
		"case $- in *a*) __ptykeep_a=1; set +a ;; esac",
		"__ptykeep_nonce=" + quote(s.nonce),
	}
}

// saved is an assignment that tells a script the value which a variable had in
// the environment, or that it had none.
func (s *shellStart) saved(variable, key string) string {
	if value, set := s.getenv(key); set {
		return variable + "=" + quote(value)
	}
	return "unset " + variable
}

// quote makes a word of s for any Bourne-like shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
