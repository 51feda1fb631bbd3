package readiness

import (
	"regexp"
	"strings"
)

// repls are the prompts of well-known programs whose event loops have timers or
// sockets of their own, so that the kernel never shows an exclusive wait. The
// names are those of /proc/PID/comm; newer nodes name their main thread.
var repls = map[string]*regexp.Regexp{
	"node":       nodePrompt,
	"MainThread": nodePrompt,
	"irb":        regexp.MustCompile(`^irb\([^)]*\):\d+(:\d+)?[>*"'/\]] $`),
	"ipython":    regexp.MustCompile(`^(In \[\d+\]|\s+\.\.\.): $`),
	"ipython3":   regexp.MustCompile(`^(In \[\d+\]|\s+\.\.\.): $`),
	"jshell":     regexp.MustCompile(`^(jshell|\s+\.\.\.)> $`),
}

// pythonPrompt is that of Python 3.13 and later, whose editor wakes by a timer.
var pythonPrompt = regexp.MustCompile(`^(>>> |\.\.\. )$`)

var nodePrompt = regexp.MustCompile(`^(> |\.\.\. )$`)

// IsREPLPrompt reports whether row is the prompt of the well-known REPL
// command. Other prompts must have been typed at before to be known.
func IsREPLPrompt(command, row string) bool {
	re := repls[command]
	if strings.HasPrefix(command, "python") { // python3.13
		re = pythonPrompt
	}
	return re != nil && re.MatchString(row)
}

// IsREPL reports whether a command line starts a REPL: the program with options
// only, none of which gives it code to run.
func IsREPL(args []string) bool {
	for _, a := range args[min(1, len(args)):] {
		switch {
		case !strings.HasPrefix(a, "-"), a == "-e", a == "-p", a == "-c", a == "-m", a == "-pe",
			strings.HasPrefix(a, "--eval"), strings.HasPrefix(a, "--print"), strings.HasPrefix(a, "--check"):
			return false
		}
	}
	return len(args) > 0
}

// FoldPrompt makes rows equal that differ only in numbers, as prompts with a
// counter do.
func FoldPrompt(row string) string {
	var b strings.Builder
	digits := false
	for _, r := range row {
		if r >= '0' && r <= '9' {
			if !digits {
				b.WriteByte('#')
			}
			digits = true
			continue
		}
		digits = false
		b.WriteRune(r)
	}
	return b.String()
}
