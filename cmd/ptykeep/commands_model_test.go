package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
)

// command is what is typed at a shell, and what has to come of it.
type command struct {
	text   string
	keys   []string // instead of text
	exit   int      // noExit: none is told
	orNone bool     // nor need that be told
	body   string   // what it prints; trailing blanks of a line do not show
	words  string   // instead of body: a regular expression for the shell's own words, from end to end
	state  string   // "" is prompt
	dir    string   // where the shell is then
}

const (
	noExit   = -1
	unknown  = -2 // a status that the model does not follow
	anything = `(?s).*`
	notice   = `(?s)(\[\d+\].*)?`
)

// shellModel knows what a shell would do with the commands that it makes up.
type shellModel struct {
	rnd        *rand.Rand
	kind       string // bash, zsh, fish or dash
	root, home string
	dirs       []string // below root
	number     int      // of names given

	dir, old    string
	stack       []string // of pushd
	back, ahead []string // where fish's "cd -" goes
	forth       bool     // it goes ahead
	status      int      // $?
	pipefail    bool
	functions   map[string]int // name and status
}

// generators are the kinds of commands. Each returns one, or several that
// belong together.
var generators = []func(*shellModel) []command{
	(*shellModel).plain, (*shellModel).chain, (*shellModel).pipeline, (*shellModel).branch, (*shellModel).loop,
	(*shellModel).function, (*shellModel).assignment, (*shellModel).evaluated, (*shellModel).output,
	(*shellModel).change, (*shellModel).change, (*shellModel).changeBack, (*shellModel).changeFails, (*shellModel).changeElsewhere,
	(*shellModel).push, (*shellModel).pop, (*shellModel).removed, (*shellModel).askStatus,
	(*shellModel).refused, (*shellModel).notFound, (*shellModel).killed, (*shellModel).lines, (*shellModel).continued,
	(*shellModel).background, (*shellModel).nothing, (*shellModel).togglePipefail,
}

func (m *shellModel) fish() bool { return m.kind == "fish" }
func (m *shellModel) dash() bool { return m.kind == "dash" }

// pick returns one of several.
func pick[T any](rnd *rand.Rand, from ...T) T { return from[rnd.IntN(len(from))] }

// code is a status that programs like to end with.
func (m *shellModel) code() int {
	return pick(m.rnd, 0, 1, 2, 42, 126, 127, 128, 130, 255, m.rnd.IntN(256))
}

// exits is a command that ends with a status.
func (m *shellModel) exits(code int) string {
	forms := []string{fmt.Sprintf("sh -c 'exit %d'", code)}
	if !m.fish() {
		forms = append(forms, fmt.Sprintf("(exit %d)", code))
	}
	if code < 2 {
		forms = append(forms, []string{"true", "false"}[code])
	}
	return pick(m.rnd, forms...)
}

func (m *shellModel) one(text string, exit int, body string) []command {
	return []command{{text: text, exit: exit, body: body, dir: m.dir}}
}

func (m *shellModel) said(text string, exit int, words string) []command {
	return []command{{text: text, exit: exit, words: words, dir: m.dir}}
}

func (m *shellModel) plain() []command {
	code, after := m.code(), pick(m.rnd, "", " ", ";", " # and a comment")
	if m.kind == "zsh" && strings.Contains(after, "#") {
		after = "" // no comments at its prompt
	}
	return m.one(m.exits(code)+after, code, "")
}

func (m *shellModel) chain() []command {
	var text strings.Builder
	var body []string
	status := 0
	for i := range 2 + m.rnd.IntN(4) {
		and := m.rnd.IntN(2) == 0
		if i > 0 {
			text.WriteString(map[bool]string{true: " && ", false: " || "}[and])
		}
		code, word := m.code(), ""
		if m.rnd.IntN(2) == 0 {
			code, word = 0, fmt.Sprintf("word %d", i)
			text.WriteString("echo " + word)
		} else {
			text.WriteString(m.exits(code))
		}
		if i == 0 || and == (status == 0) {
			status = code
			if word != "" {
				body = append(body, word)
			}
		}
	}
	return m.one(text.String(), status, strings.Join(body, "\n"))
}

func (m *shellModel) pipeline() []command {
	var stages []string
	var codes []string
	status := 0
	for range 2 + m.rnd.IntN(3) {
		code := m.code()
		stages, codes = append(stages, m.exits(code)), append(codes, fmt.Sprint(code))
		if code != 0 || !m.pipefail {
			status = code
		}
	}
	text := strings.Join(stages, " | ")
	switch {
	case m.fish() || !m.dash() && m.rnd.IntN(2) == 0:
		variable := map[string]string{"bash": "${PIPESTATUS[*]}", "zsh": "$pipestatus", "fish": "$pipestatus"}[m.kind]
		return append(m.one(text, status, ""), m.one("echo "+variable, 0, strings.Join(codes, " "))...)
	case m.rnd.IntN(2) == 0:
		text = "! " + text
		if status = 1; m.pipefail == false && codes[len(codes)-1] != "0" {
			status = 0
		}
		if m.pipefail && slices.ContainsFunc(codes, func(c string) bool { return c != "0" }) {
			status = 0
		}
	}
	return m.one(text, status, "")
}

func (m *shellModel) branch() []command {
	test, yes, no := m.code(), m.code(), m.code()
	status := no
	if test == 0 {
		status = yes
	}
	form := "if %s; then %s; else %s; fi"
	if m.fish() {
		form = "if %s; %s; else; %s; end"
	}
	return m.one(fmt.Sprintf(form, m.exits(test), m.exits(yes), m.exits(no)), status, "")
}

func (m *shellModel) loop() []command {
	code := m.code()
	form := "for i in 1 2 3; do echo $i; %s; done"
	if m.fish() {
		form = "for i in 1 2 3; echo $i; %s; end"
	}
	return m.one(fmt.Sprintf(form, m.exits(code)), code, "1\n2\n3")
}

func (m *shellModel) function() []command {
	names := []string{"f1", "f2", "f3"}
	name := pick(m.rnd, names...)
	if code, defined := m.functions[name]; defined && m.rnd.IntN(3) > 0 {
		return m.one(name, code, "in "+name)
	}
	m.functions[name] = m.code()
	form := pick(m.rnd, "%s() { echo in %[1]s; return %d; }", "%s() {\n  echo in %[1]s\n  (exit %d)\n}")
	if m.fish() {
		form = pick(m.rnd, "function %s; echo in %[1]s; return %d; end", "function %s\n  echo in %[1]s\n  return %d\nend")
	}
	return m.one(fmt.Sprintf(form, name, m.functions[name]), 0, "")
}

func (m *shellModel) assignment() []command {
	code := m.code()
	if m.fish() {
		return pick(m.rnd,
			m.one(fmt.Sprintf("set x ( %s)", m.exits(code)), code, ""),
			m.one("true; set x 5", 0, ""), m.one("false; set x 5", 1, ""), // it leaves the status
			m.one(fmt.Sprintf("x=%d sh -c 'exit $x'", code), code, ""))
	}
	return pick(m.rnd,
		m.one("x=5", 0, ""), m.one("x=$RANDOM y='a b'", 0, ""),
		m.one(fmt.Sprintf("x=$( %s)", m.exits(code)), code, ""),
		m.one(fmt.Sprintf("x=%d sh -c 'exit $x'", code), code, ""))
}

func (m *shellModel) evaluated() []command {
	code := m.code()
	n := m.name("a")
	if m.fish() {
		return pick(m.rnd,
			m.one(fmt.Sprintf(`eval "sh -c 'exit %d'"`, code), code, ""),
			append(m.one(fmt.Sprintf(`alias %s "sh -c 'exit %d'"`, n, code), 0, ""), m.one(n, code, "")...),
			m.one(fmt.Sprintf(`echo "sh -c 'exit %d'" | source`, code), code, ""),
			m.one("test -d /", 0, ""), m.one("test -d /nowhere", 1, ""))
	}
	if m.dash() {
		return pick(m.rnd, m.one(fmt.Sprintf("eval '(exit %d)'", code), code, ""), m.one("test -d /nowhere", 1, ""))
	}
	return pick(m.rnd,
		m.one(fmt.Sprintf("eval '(exit %d)'", code), code, ""),
		append(m.one(fmt.Sprintf("alias %s='(exit %d)'", n, code), 0, ""), m.one(n, code, "")...),
		m.one(fmt.Sprintf("source <(echo '(exit %d)')", code), code, ""),
		m.one("[[ a == b ]]", 1, ""), m.one("((1))", 0, ""), m.one("((0))", 1, ""),
		m.one("[ -d / ]", 0, ""), m.one("test -d /nowhere", 1, ""))
}

// name returns a name that was not given yet.
func (m *shellModel) name(prefix string) string {
	m.number++
	return fmt.Sprint(prefix, m.number)
}

func (m *shellModel) output() []command {
	n, code := m.rnd.IntN(2000), m.code()
	var seq strings.Builder
	for i := range n {
		fmt.Fprintln(&seq, i+1)
	}
	wide := strings.Repeat("wide ünï 你好 ", 20) + "."
	var c []command
	switch m.rnd.IntN(9) {
	case 0:
		c = m.one(fmt.Sprintf("seq %d", n), 0, seq.String())
	case 1:
		c = m.one("printf 'no line end'", 0, "no line end")
	case 2:
		c = m.one(`printf '\n\nblank lines\n\n'`, 0, "\n\nblank lines\n\n")
	case 3:
		c = m.one(fmt.Sprintf("echo '%s'", wide), 0, wide)
	case 4:
		c = m.one("echo a; echo b >&2", 0, "a\nb")
	case 5:
		c = m.one("echo '!! !$ a!b' '$x' '%p'", 0, "!! !$ a!b $x %p")
	case 6:
		c = m.one("pwd", 0, m.dir)
		if hasControl(m.dir) {
			c = m.said("pwd", 0, anything)
		}
	case 7:
		c = m.one("printf '\\033[31mred\\033[0m\\rRED\\n'", 0, "RED")
	case 8:
		c = m.one("printf '%s\\n' 'vm# ' '$ ' 'bash-5.2# prompts'", 0, "vm#\n$\nbash-5.2# prompts")
	}
	if code > 0 {
		c[0].text, c[0].exit = c[0].text+"; "+m.exits(code), code
	}
	return c
}

func hasControl(s string) bool {
	return strings.ContainsAny(s, "\n\t\x1b") || strings.Contains(s, "\xff")
}

// moved notes a change of directory by cd.
func (m *shellModel) moved(dir string) {
	if dir != m.dir {
		m.back, m.ahead, m.forth = append(m.back, m.dir), nil, false
	}
	m.old, m.dir = m.dir, dir
}

func (m *shellModel) anyDir() string { return filepath.Join(m.root, pick(m.rnd, m.dirs...)) }

// word quotes a path in one of the ways that a person would, relative where it
// can be.
func (m *shellModel) word(dir string) string {
	if rel, err := filepath.Rel(m.dir, dir); err == nil && m.rnd.IntN(2) == 0 {
		dir = rel
		if strings.HasPrefix(rel, "-") {
			dir = "./" + rel
		}
	}
	quoted := strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(dir)
	switch {
	case m.fish():
		// Within quotes fish knows no escapes but these two.
		return "'" + strings.NewReplacer("\n", `'\n'`, "\t", `'\t'`, "\x1b", `'\x1b'`, "\xff", `'\Xff'`).Replace(quoted) + "'"
	case hasControl(dir):
		return "$'" + strings.NewReplacer("\n", `\n`, "\t", `\t`, "\x1b", `\x1b`, "\xff", `\xff`).Replace(quoted) + "'"
	}
	return "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
}

func (m *shellModel) change() []command {
	dir := m.anyDir()
	text := "cd " + m.word(dir)
	code, after := 0, ""
	switch m.rnd.IntN(8) {
	case 0:
		text, dir = "cd", m.home
	case 1:
		text, dir = "cd ..", filepath.Dir(m.dir)
	case 2:
		text, dir = "cd /", "/"
	case 3:
		code = m.code()
		after = "; " + m.exits(code)
	case 4:
		if !m.fish() {
			text, dir = "cd -P "+m.word(filepath.Join(m.root, "link")), filepath.Join(m.root, "deep/er")
		}
	}
	m.moved(dir)
	return m.one(text+after, code, "")
}

func (m *shellModel) changeBack() []command {
	if !m.fish() {
		m.moved(m.old)
		if hasControl(m.dir) || m.dir == m.home { // which zsh calls ~
			return m.said("cd -", 0, anything)
		}
		return m.one("cd -", 0, m.dir)
	}
	from, to := &m.back, &m.ahead
	if m.forth {
		from, to = to, from
	}
	n := len(*from)
	if n == 0 {
		return m.said("cd -", 1, anything)
	}
	dir := (*from)[n-1]
	*from, *to, m.forth = (*from)[:n-1], append(*to, m.dir), !m.forth
	m.dir = dir
	return m.one("cd -", 0, "")
}

func (m *shellModel) changeFails() []command {
	code := m.code()
	fails := map[string]int{"bash": 1, "zsh": 1, "fish": 1, "dash": 2}[m.kind]
	c := pick(m.rnd,
		m.said("cd nowhere", fails, `(?s).*nowhere.*`), m.said("cd /dev/null", fails, anything),
		m.one("cd nowhere 2>/dev/null || "+m.exits(code), code, ""),
		m.said("pushd nowhere", 1, anything))
	if m.dash() && strings.HasPrefix(c[0].text, "pushd") {
		return m.changeFails()
	}
	return c
}

func (m *shellModel) changeElsewhere() []command {
	code := m.code()
	texts := []string{fmt.Sprintf("sh -c 'cd /; exit %d'", code), fmt.Sprintf("env sh -c 'cd ..; exit %d'", code)}
	if m.fish() {
		if m.rnd.IntN(2) == 0 {
			m.dir = "/" // a substitution is no subshell; the history does not have it
			return m.one("echo (cd /; pwd)", 0, "/")
		}
	} else {
		texts = append(texts, fmt.Sprintf("(cd /; exit %d)", code), fmt.Sprintf("true | (cd /; exit %d)", code),
			fmt.Sprintf("x=$(cd /; pwd; exit %d)", code))
	}
	return m.one(pick(m.rnd, texts...), code, "")
}

// stacked is what pushd and popd print.
func (m *shellModel) stacked(text string) []command {
	list := strings.Join(append([]string{m.dir}, m.stack...), " ")
	switch {
	case m.fish():
		return m.one(text, 0, "")
	case hasControl(list) || strings.Contains(list, m.home):
		return m.said(text, 0, anything)
	}
	return m.one(text, 0, list)
}

func (m *shellModel) push() []command {
	if m.dash() {
		return m.change()
	}
	dir := m.anyDir()
	text := "pushd " + m.word(dir)
	m.stack = append([]string{m.dir}, m.stack...)
	m.moved(dir)
	return m.stacked(text)
}

func (m *shellModel) pop() []command {
	if m.dash() {
		return m.changeBack()
	}
	if len(m.stack) == 0 {
		return m.said("popd", 1, anything)
	}
	dir := m.stack[0]
	m.stack = m.stack[1:]
	m.moved(dir)
	return m.stacked("popd")
}

// removed makes a directory, and removes it from within.
func (m *shellModel) removed() []command {
	dir := filepath.Join(m.root, m.name("gone"))
	text := fmt.Sprintf("mkdir '%s' && cd '%s' && rmdir '%[1]s'", dir, dir)
	m.moved(dir)
	c := m.one(text, 0, "")
	// Nothing may lead back there.
	m.moved(m.root)
	if m.old, m.back, m.ahead = m.root, nil, nil; m.fish() {
		m.forth = false
		return append(c, m.one("cd '"+m.root+"'; set -e dirprev dirnext; set -e __fish_cd_direction", 0, "")...)
	}
	return append(c, m.one("cd '"+m.root+"' && cd .", 0, "")...)
}

func (m *shellModel) askStatus() []command {
	if m.status == unknown {
		return m.plain()
	}
	variable := "$?"
	if m.fish() {
		variable = "$status"
	}
	return m.one("echo "+variable, 0, fmt.Sprint(m.status))
}

// refused is what is no command in the shell's language.
func (m *shellModel) refused() []command {
	if m.fish() { // keeps the line in its editor
		c := m.said(pick(m.rnd, "echo )", "end", "if; end"), noExit, anything)
		c[0].state = "waiting_input"
		m.status = unknown
		return append(c, command{keys: []string{"C-u"}, exit: noExit, words: anything, dir: m.dir}) // a C-c that comes while it draws may be lost
	}
	c := m.said(pick(m.rnd, "echo )", "fi", "echo | | cat", "echo a; done", "echo 'one\n'; )"), 2, `(?s).*(syntax|Syntax|parse) error.*`)
	if m.kind == "zsh" { // keeps a status that is not 0, which then is no news
		c[0].exit, c[0].orNone = 1, true
		if m.status == 0 {
			m.status = 1
		}
	}
	return c
}

func (m *shellModel) notFound() []command {
	name := m.name("nosuch")
	return m.said(pick(m.rnd, name, name+" with arguments", "x=1 "+name), 127, `(?s).*`+name+`.*`)
}

func (m *shellModel) killed() []command {
	signals := map[string]int{"HUP": 129, "INT": 130, "KILL": 137, "PIPE": 141, "ALRM": 142, "TERM": 143}
	name := pick(m.rnd, slices.Sorted(maps.Keys(signals))...)
	return m.said(fmt.Sprintf("sh -c 'kill -%s $$'", name), signals[name], anything)
}

// lines are several lines in one send.
func (m *shellModel) lines() []command {
	a, b := m.code(), m.code()
	texts := []string{"echo one\n%[1]s\necho two\n%[2]s", "%[1]s\n\necho one; echo two; %[2]s\n"}
	if m.fish() {
		texts = append(texts, "begin\n  echo one\n  %[1]s\nend\necho two; %[2]s", "if true\n  echo one\nend\necho two \\\n; %[2]s")
	} else {
		texts = append(texts, "{\n  echo one\n  %[1]s\n}\necho two; %[2]s", "if true; then\n  echo one\nfi\necho \\\ntwo; %[2]s",
			"cat <<E\none\ntwo\nE\n%[2]s", "for i in one two\ndo\n\techo $i\ndone\n%[2]s", "echo 'one\ntwo'; %[2]s")
	}
	return m.one(fmt.Sprintf(pick(m.rnd, texts...)+"%.0[1]s", m.exits(a), m.exits(b)), b, "one\ntwo")
}

// continued is a command in several sends.
func (m *shellModel) continued() []command {
	code := m.code()
	texts, body := []string{"if true", "then echo one", m.exits(code), "fi"}, "one"
	if m.fish() {
		texts = []string{"if true", "echo one", m.exits(code), "end"}
	} else if m.rnd.IntN(2) == 0 {
		texts, body = []string{"echo 'one", "two", "three'; " + m.exits(code)}, "one\ntwo\nthree"
	}
	var c []command
	for _, text := range texts[:len(texts)-1] {
		more := command{text: text, exit: noExit, state: "continuation", dir: m.dir}
		if m.fish() { // does not tell
			more.words, more.state = anything, "waiting_input"
		}
		c = append(c, more)
	}
	return append(c, m.one(texts[len(texts)-1], code, body)...)
}

func (m *shellModel) background() []command {
	code := m.code()
	nap := fmt.Sprintf("sleep 0.0%d", m.rnd.IntN(5))
	c := m.said(fmt.Sprintf("%s & %s", nap, m.exits(code)), code, anything)
	c = append(c, m.said("wait", 0, anything)...)
	if !m.fish() && !m.dash() {
		c = pick(m.rnd, c,
			m.one(fmt.Sprintf("(%s &)", nap), 0, ""),
			m.said(fmt.Sprintf("%s & disown; %s", nap, m.exits(code)), code, notice),
			m.said(fmt.Sprintf("{ %s; exit %d; } & wait $!", nap, code), code, anything))
	}
	return c
}

// nothing is a line without a command.
func (m *shellModel) nothing() []command {
	text := pick(m.rnd, "", " ", "   ", "\t", "\n", "# a comment", "  # a comment", "# two\n# comments")
	if m.kind == "zsh" && strings.Contains(text, "#") {
		return m.said(text, 127, anything) // a command of that name
	}
	return m.one(text, noExit, "")
}

func (m *shellModel) togglePipefail() []command {
	if m.fish() || m.dash() {
		return m.plain()
	}
	m.pipefail = !m.pipefail
	return m.one(map[bool]string{true: "set -o pipefail", false: "set +o pipefail"}[m.pipefail], 0, "")
}

// strangeDirs are names that prompts, marks and results could stumble over.
var strangeDirs = []string{
	".", "a b", "ünï 你好", "qu'ote", `dq"x`, "a;b", `b\ack`, "$HOME", "%p[x]%F{red}", "!bang!!", "`id`", "nl\nx", "tab\tx",
	"esc\x1b[31mx", "trail ", "-dash", "deep/er/est", "link", strings.Repeat("long", 50), "\xff",
}
