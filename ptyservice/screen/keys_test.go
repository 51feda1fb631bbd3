package screen

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ptykeep/ptykeep/backend/backendtest"
)

var (
	normal      = Modes{}
	application = Modes{AppCursor: true, AppKeypad: true}
	kittyKeys   = Modes{Kitty: 1, AppCursor: true, AppKeypad: true}
)

// sends fails the test if a key is not sent as want. The erase character is DEL.
func sends(t *testing.T, name string, m Modes, want string) {
	t.Helper()
	got, err := EncodeKey(name, m, 0x7f)
	if err != nil {
		t.Errorf("EncodeKey(%q): %v, want %q", name, err, want)
	} else if string(got) != want {
		t.Errorf("EncodeKey(%q, app %v, kitty %d) = %q, want %q", name, m.AppCursor, m.Kitty, got, want)
	}
}

// The bytes are of xterm ctlseqs, "PC-Style Function Keys" and
// "VT220-Style Function Keys".
func TestKeysAreSentAsXtermDoes(t *testing.T) {
	for _, c := range []struct{ names, normal, application string }{
		{"Up", "\x1b[A", "\x1bOA"},
		{"Down", "\x1b[B", "\x1bOB"},
		{"Right", "\x1b[C", "\x1bOC"},
		{"Left", "\x1b[D", "\x1bOD"},
		{"Home", "\x1b[H", "\x1bOH"},
		{"End", "\x1b[F", "\x1bOF"},
		{"IC Insert", "\x1b[2~", "\x1b[2~"},
		{"DC Delete", "\x1b[3~", "\x1b[3~"},
		{"PPage PageUp PgUp", "\x1b[5~", "\x1b[5~"},
		{"NPage PageDown PgDn", "\x1b[6~", "\x1b[6~"},
		{"F1", "\x1bOP", "\x1bOP"},
		{"F2", "\x1bOQ", "\x1bOQ"},
		{"F3", "\x1bOR", "\x1bOR"},
		{"F4", "\x1bOS", "\x1bOS"},
		{"F5", "\x1b[15~", "\x1b[15~"},
		{"F6", "\x1b[17~", "\x1b[17~"},
		{"F7", "\x1b[18~", "\x1b[18~"},
		{"F8", "\x1b[19~", "\x1b[19~"},
		{"F9", "\x1b[20~", "\x1b[20~"},
		{"F10", "\x1b[21~", "\x1b[21~"},
		{"F11", "\x1b[23~", "\x1b[23~"},
		{"F12", "\x1b[24~", "\x1b[24~"},
		{"F13", "\x1b[25~", "\x1b[25~"},
		{"F14", "\x1b[26~", "\x1b[26~"},
		{"F15", "\x1b[28~", "\x1b[28~"},
		{"F16", "\x1b[29~", "\x1b[29~"},
		{"F17", "\x1b[31~", "\x1b[31~"},
		{"F18", "\x1b[32~", "\x1b[32~"},
		{"F19", "\x1b[33~", "\x1b[33~"},
		{"F20", "\x1b[34~", "\x1b[34~"},
		{"Enter", "\r", "\r"},
		{"Tab", "\t", "\t"},
		{"BTab S-Tab", "\x1b[Z", "\x1b[Z"},
		{"Escape Esc", "\x1b", "\x1b"},
		{"Space", " ", " "},
		{"BSpace Backspace", "\x7f", "\x7f"},
		{"M-Enter", "\x1b\r", "\x1b\r"},
		{"M-Tab", "\x1b\t", "\x1b\t"},
		{"M-BTab M-S-Tab S-M-Tab", "\x1b\x1b[Z", "\x1b\x1b[Z"},
		{"M-Escape", "\x1b\x1b", "\x1b\x1b"},
		{"M-Space", "\x1b ", "\x1b "},
		{"M-BSpace", "\x1b\x7f", "\x1b\x7f"},
		{"C-BSpace", "\b", "\b"},
		{"C-M-BSpace", "\x1b\b", "\x1b\b"},
		{"S-Space", " ", " "},
	} {
		for _, name := range strings.Fields(c.names) {
			for _, spelled := range []string{name, anyCase(name, strings.ToLower), anyCase(name, strings.ToUpper)} {
				sends(t, spelled, normal, c.normal)
				sends(t, spelled, application, c.application)
			}
		}
	}
}

// anyCase changes the case of a name behind its modifiers.
func anyCase(name string, change func(string) string) string {
	at := strings.LastIndex(name, "-") + 1
	return name[:at] + change(name[at:])
}

// modifiers are in the order of their parameter, 2 to 8 (xterm ctlseqs,
// "PC-Style Function Keys").
var modifiers = [][]string{
	{"S-"}, {"M-"}, {"S-M-", "M-S-"}, {"C-"}, {"S-C-", "C-S-"}, {"M-C-", "C-M-"},
	{"S-M-C-", "S-C-M-", "M-S-C-", "M-C-S-", "C-S-M-", "C-M-S-"},
}

// modified are the sequences with a modifier in the place of %d.
var modified = map[string]string{
	"Up": "\x1b[1;%dA", "Down": "\x1b[1;%dB", "Right": "\x1b[1;%dC", "Left": "\x1b[1;%dD",
	"Home": "\x1b[1;%dH", "End": "\x1b[1;%dF",
	"IC": "\x1b[2;%d~", "DC": "\x1b[3;%d~", "PPage": "\x1b[5;%d~", "NPage": "\x1b[6;%d~",
	"F1": "\x1b[1;%dP", "F2": "\x1b[1;%dQ", "F3": "\x1b[1;%dR", "F4": "\x1b[1;%dS",
	"F5": "\x1b[15;%d~", "F6": "\x1b[17;%d~", "F7": "\x1b[18;%d~", "F8": "\x1b[19;%d~",
	"F9": "\x1b[20;%d~", "F10": "\x1b[21;%d~", "F11": "\x1b[23;%d~", "F12": "\x1b[24;%d~",
	"F13": "\x1b[25;%d~", "F14": "\x1b[26;%d~", "F15": "\x1b[28;%d~", "F16": "\x1b[29;%d~",
	"F17": "\x1b[31;%d~", "F18": "\x1b[32;%d~", "F19": "\x1b[33;%d~", "F20": "\x1b[34;%d~",
}

func TestModifiedFunctionKeys(t *testing.T) {
	for name, format := range modified {
		for i, spellings := range modifiers {
			want := fmt.Sprintf(format, i+2)
			for _, prefix := range spellings {
				sends(t, prefix+name, normal, want)
				sends(t, prefix+name, application, want)
			}
		}
	}
}

func TestCharacters(t *testing.T) {
	for r := '!'; r <= '~'; r++ {
		sends(t, string(r), application, string(r))
		sends(t, "M-"+string(r), normal, "\x1b"+string(r))
	}
	for _, c := range []struct{ name, want string }{
		{" ", " "}, {"é", "é"}, {"語", "語"}, {"🙂", "🙂"}, {"M-é", "\x1bé"},
		{"S-a", "A"}, {"S-A", "A"}, {"S-é", "É"}, {"M-S-a", "\x1bA"}, {"S-M-é", "\x1bÉ"},
		{"-", "-"}, {"M--", "\x1b-"}, {"^", "^"}, {"M-^", "\x1b^"},
	} {
		sends(t, c.name, normal, c.want)
	}
}

// The control characters are those of the VT220 programmer reference, table
// 3-5, and of Xlib.
func TestControlCharacters(t *testing.T) {
	for r := 'a'; r <= 'z'; r++ {
		want, lower, upper := string(r-'a'+1), string(r), string(r-'a'+'A')
		for _, name := range []string{"C-" + lower, "C-" + upper, "c-" + lower, "^" + lower, "^" + upper, "C-S-" + lower, "S-C-" + lower} {
			sends(t, name, normal, want)
		}
		for _, name := range []string{"C-M-" + lower, "M-C-" + lower, "M-^" + lower, "C-M-S-" + upper} {
			sends(t, name, normal, "\x1b"+want)
		}
	}
	for _, c := range []struct{ names, want string }{
		{"C-Space C-@ C-2 C-` ^@", "\x00"},
		{"C-[ C-3 C-{ ^[", "\x1b"},
		{`C-\ C-4 C-| ^\`, "\x1c"},
		{"C-] C-5 C-} ^]", "\x1d"},
		{"C-^ C-6 C-~ ^^", "\x1e"},
		{"C-_ C-7 C-/ ^_ C-S-_", "\x1f"},
		{"C-? C-8 ^?", "\x7f"},
		{"C-M-Space C-M-@ M-^@", "\x1b\x00"},
		{`M-C-\`, "\x1b\x1c"},
	} {
		for _, name := range strings.Fields(c.names) {
			sends(t, name, normal, c.want)
		}
	}
}

func TestBSpaceSendsErase(t *testing.T) {
	for _, c := range []struct {
		erase       byte
		plain, ctrl string
	}{
		{0x7f, "\x7f", "\b"},
		{'\b', "\b", "\x7f"},
		{'#', "#", "\b"},
		{0, "\x7f", "\b"},    // _POSIX_VDISABLE on Linux
		{0xff, "\x7f", "\b"}, // on macOS
	} {
		for name, want := range map[string]string{
			"BSpace": c.plain, "M-BSpace": "\x1b" + c.plain, "C-BSpace": c.ctrl, "C-M-BSpace": "\x1b" + c.ctrl,
		} {
			got, err := EncodeKey(name, normal, c.erase)
			if string(got) != want || err != nil {
				t.Errorf("EncodeKey(%q) with erase %#x = %q, %v, want %q", name, c.erase, got, err, want)
			}
		}
		if got, err := EncodeKey("BSpace", kittyKeys, c.erase); string(got) != c.plain || err != nil {
			t.Errorf("BSpace with kitty keys and erase %#x = %q, %v, want %q", c.erase, got, err, c.plain)
		}
	}
}

func TestEnterIsTwoCharactersInLNM(t *testing.T) {
	sends(t, "Enter", Modes{LNM: true}, "\r\n")
	sends(t, "M-Enter", Modes{LNM: true}, "\x1b\r\n")
	sends(t, "C-m", Modes{LNM: true}, "\r")
}

// The bytes are of https://sw.kovidgoyal.net/kitty/keyboard-protocol, sections
// "Disambiguate escape codes" and "Functional key definitions".
func TestKittyKeysAreUnambiguous(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"Escape", "\x1b[27u"}, {"M-Escape", "\x1b[27;3u"}, {"C-[", "\x1b[91;5u"},
		{"Enter", "\r"}, {"S-Enter", "\x1b[13;2u"}, {"C-Enter", "\x1b[13;5u"}, {"M-Enter", "\x1b[13;3u"}, {"C-m", "\x1b[109;5u"},
		{"Tab", "\t"}, {"BTab", "\x1b[9;2u"}, {"C-Tab", "\x1b[9;5u"}, {"C-S-Tab", "\x1b[9;6u"}, {"C-i", "\x1b[105;5u"},
		{"BSpace", "\x7f"}, {"S-BSpace", "\x1b[127;2u"}, {"C-BSpace", "\x1b[127;5u"}, {"C-h", "\x1b[104;5u"},
		{"Space", " "}, {"S-Space", " "}, {"C-Space", "\x1b[32;5u"}, {"M-Space", "\x1b[32;3u"},
		{"a", "a"}, {"A", "A"}, {"S-a", "A"}, {"é", "é"}, {"1", "1"},
		{"M-a", "\x1b[97;3u"}, {"M-A", "\x1b[97;4u"}, {"M-S-a", "\x1b[97;4u"}, {"M-é", "\x1b[233;3u"}, {"M-[", "\x1b[91;3u"},
		{"C-c", "\x1b[99;5u"}, {"C-C", "\x1b[99;5u"}, {"^C", "\x1b[99;5u"}, {"C-S-c", "\x1b[99;6u"},
		{"C-M-c", "\x1b[99;7u"}, {"C-M-S-c", "\x1b[99;8u"},
		{"C-1", "\x1b[49;5u"}, {"M-S-1", "\x1b[49;4u"}, {"C-;", "\x1b[59;5u"}, {"C-?", "\x1b[63;5u"}, {"C-é", "\x1b[233;5u"},
		{"Up", "\x1b[A"}, {"C-Up", "\x1b[1;5A"}, {"Home", "\x1b[H"}, {"S-End", "\x1b[1;2F"},
		{"DC", "\x1b[3~"}, {"M-PPage", "\x1b[5;3~"},
		{"F1", "\x1b[P"}, {"F2", "\x1b[Q"}, {"F3", "\x1b[13~"}, {"F4", "\x1b[S"}, {"F5", "\x1b[15~"}, {"F12", "\x1b[24~"},
		{"C-F1", "\x1b[1;5P"}, {"C-F3", "\x1b[13;5~"}, {"F13", "\x1b[57376u"}, {"S-F20", "\x1b[57383;2u"},
	} {
		sends(t, c.name, kittyKeys, c.want)
	}
	for r := 'a'; r <= 'z'; r++ {
		sends(t, "C-"+string(r), kittyKeys, fmt.Sprintf("\x1b[%d;5u", r))
		sends(t, "M-"+string(r), kittyKeys, fmt.Sprintf("\x1b[%d;3u", r))
	}
}

func TestOtherKittyFlagsChangeNothing(t *testing.T) {
	for _, name := range []string{"Escape", "C-c", "M-x", "Up", "F3", "BSpace", "a"} {
		plain, _ := EncodeKey(name, normal, 0x7f)
		sends(t, name, Modes{Kitty: 30}, string(plain))
		unambiguous, _ := EncodeKey(name, kittyKeys, 0x7f)
		sends(t, name, Modes{Kitty: 31}, string(unambiguous))
	}
}

func TestLostModifiersAreErrors(t *testing.T) {
	for name, why := range map[string]string{
		"C-1": "kitty", "C-0": "kitty", "C-9": "kitty", "C-;": "kitty", "C--": "kitty", "^!": "kitty", "C-é": "kitty", "C-M-1": "kitty",
		"S-Enter": "kitty", "C-Enter": "kitty", "C-M-Enter": "kitty", "C-Tab": "kitty", "C-S-Tab": "kitty", "C-BTab": "kitty",
		"S-Escape": "kitty", "C-Escape": "kitty", "S-BSpace": "kitty", "C-S-BSpace": "kitty",
		"S-1": "depends on the keyboard", "S-!": "depends on the keyboard", "M-S-1": "depends on the keyboard", "S-語": "depends on the keyboard",
	} {
		refuses(t, name, normal, why)
	}
	refuses(t, "S-1", kittyKeys, "depends on the keyboard")
}

func TestUnknownKeysAreErrors(t *testing.T) {
	for _, name := range []string{
		"", "Foo", "C-", "M-", "C-Foo", "A-x", "Ctrl+C", "C-c ", "ls", "F0", "F01", "F21", "C-^^^", "^Up", "^é", "\xff", "e\u0301", "\u0085", "C-M-",
	} {
		refuses(t, name, normal, "names are")
		refuses(t, name, kittyKeys, "names are")
	}
	for name, why := range map[string]string{"\x03": "C-c", "\x1b": "C-[", "\x00": "C-@", "\x7f": "C-?", "\r": "C-m", "M-\x1f": "C-_"} {
		refuses(t, name, normal, "its name is "+why)
	}
}

func TestUnknownKeyIsQuotedInPart(t *testing.T) {
	_, err := EncodeKey(strings.Repeat("make all\n", 1000), normal, 0)
	if err == nil || len(err.Error()) > 300 || strings.Contains(err.Error(), "\n") {
		t.Errorf("error for a text = %v, want one short line", err)
	}
}

// refuses fails the test if a key is sent, or if the error does not name it.
func refuses(t *testing.T, name string, m Modes, why string) {
	t.Helper()
	got, err := EncodeKey(name, m, 0x7f)
	if err == nil || got != nil {
		t.Errorf("EncodeKey(%q, kitty %d) = %q, %v, want an error", name, m.Kitty, got, err)
	} else if !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) || !strings.Contains(err.Error(), why) {
		t.Errorf("EncodeKey(%q, kitty %d): %v; want it to say %q", name, m.Kitty, err, why)
	}
}

// tmuxKeys are names that tmux and EncodeKey both send. Home and End are left
// out: tmux sends its own terminal's CSI 1 ~ and CSI 4 ~. Of C-3 to C-8, tmux
// 3.3a sends only C-6.
func tmuxKeys() []string {
	names := strings.Fields(`Enter Tab BTab Escape Space BSpace M-Enter M-Tab M-Escape M-Space M-BSpace
		Up Down Left Right IC DC PPage NPage PageUp PgUp PageDown PgDn
		C-Space C-@ C-[ C-] C-^ C-_ C-? C-2 C-6 C-/ ^c ^[ é M-é 語 - M-- M-1 M-[`)
	names = append(names, `C-\`)
	for r := 'a'; r <= 'z'; r++ {
		for _, prefix := range []string{"", "C-", "M-", "C-M-"} {
			names = append(names, prefix+string(r))
		}
		names = append(names, string(r-'a'+'A'), "M-"+string(r-'a'+'A'))
	}
	for i := 1; i <= 12; i++ {
		names = append(names, fmt.Sprintf("F%d", i))
	}
	for name := range modified {
		if len(name) == 3 && name[0] == 'F' && name > "F12" {
			continue // tmux knows no more than 12
		}
		for _, spellings := range modifiers {
			names = append(names, spellings[0]+name)
		}
	}
	return names
}

// readerEnv makes TestReader the program in tmux: the directory of its files.
const readerEnv = "PTYKEEP_TEST_KEYS_READER"

const (
	nextKey = "<next>" // no names of keys, so tmux types them
	lastKey = "<last>"
)

func TestKeysAreSentAsTmuxDoes(t *testing.T) {
	tmux := backendtest.Need(t, "tmux")
	backendtest.Need(t, "stty")
	names := tmuxKeys()
	for title, c := range map[string]struct {
		m   Modes
		set string
	}{"normal": {normal, ""}, "application": {application, "\x1b[?1h\x1b="}} {
		t.Run(title, func(t *testing.T) {
			sent := viaTmux(t, tmux, c.set, names)
			if len(sent) != len(names) {
				t.Fatalf("tmux sent %d keys, want %d", len(sent), len(names))
			}
			for i, name := range names {
				sends(t, name, c.m, sent[i])
			}
		})
	}
}

// viaTmux returns what a program in tmux reads for each key, after it has
// written set.
func viaTmux(t *testing.T, tmux, set string, names []string) []string {
	// Not t.TempDir: the path of a socket has room for about 100 bytes.
	dir, err := os.MkdirTemp("", "keys")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // only litter
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	socket := filepath.Join(dir, "s")
	// The hang-up ends the reader and, where it has ended, the cat that kept the
	// server for us.
	defer func() { _ = exec.Command(tmux, "-S", socket, "kill-server").Run() }() // it may not have started
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(ctx, tmux, append([]string{"-u", "-S", socket, "-f", os.DevNull}, args...)...)
		cmd.Env = append(os.Environ(), "TMUX=", "TERM=xterm-256color", "LC_ALL=C.UTF-8", "SHELL=/bin/sh", readerEnv+"="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("tmux %.60q: %v, %s", args, err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "set"), []byte(set), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tell := fmt.Sprintf("'%s' -S '%s' wait-for -S", tmux, socket)
	run("new-session", "-d", fmt.Sprintf("stty raw -echo; TELL=\"%s\" '%s' -test.run='^TestReader$' || %s done; exec cat", tell, self, tell))
	run("wait-for", "ready")
	keys := []string{"send-keys", "--"}
	for _, name := range names {
		keys = append(keys, name, nextKey)
	}
	run(append(keys, lastKey)...)
	run("wait-for", "done")
	read, err := os.ReadFile(filepath.Join(dir, "read"))
	if err != nil {
		t.Fatal(err)
	}
	sent := strings.Split(strings.TrimSuffix(string(read), lastKey), nextKey)
	return sent[:len(sent)-1]
}

// TestReader is no test: it is the program in tmux, on a raw terminal.
func TestReader(t *testing.T) {
	dir := os.Getenv(readerEnv)
	if dir == "" {
		return
	}
	set, err := os.ReadFile(filepath.Join(dir, "set"))
	if err != nil {
		t.Fatal(err)
	}
	// The report that follows the modes says that tmux has executed them.
	fmt.Printf("%s\x1b[5n", set)
	readUntil(t, "\x1b[0n")
	tell(t, "ready")
	if err := os.WriteFile(filepath.Join(dir, "read"), readUntil(t, lastKey), 0o600); err != nil {
		t.Fatal(err)
	}
	tell(t, "done") // not by our exit, which the race detector delays by a second
}

// tell wakes the test that waits for an event of the reader.
func tell(t *testing.T, event string) {
	if err := exec.Command("sh", "-c", os.Getenv("TELL")+" "+event).Run(); err != nil {
		t.Fatal(err)
	}
}

// readUntil reads standard input up to and with end.
func readUntil(t *testing.T, end string) []byte {
	var read []byte
	var b [1]byte
	for !bytes.HasSuffix(read, []byte(end)) {
		if _, err := io.ReadFull(os.Stdin, b[:]); err != nil {
			t.Fatalf("reading keys: %v after %q", err, read)
		}
		read = append(read, b[0])
	}
	return read
}
