package guard

import "strconv"

// What a session may open for writing in every mode, besides its directories:
// its terminal, terminals that it makes itself, and what keeps nothing. Every
// Unix program takes them for granted.
var (
	terminals = []string{"/dev/tty", "/dev/ptmx", "/dev/pts"} // with their ioctls
	sinks     = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
)

// seatbelt returns the arguments of sandbox-exec(1) that run argv confined. The
// directories are parameters of the profile and no part of its text, so that
// there is nothing to quote. Other than on Linux, signals are not confined.
func seatbelt(c *Confinement, argv []string) []string {
	profile := "(version 1)\n(allow default)\n(deny file-write*)\n(allow file-write*\n"
	var params []string
	for i, dir := range c.Writable {
		name := "WRITABLE_" + strconv.Itoa(i)
		params = append(params, "-D"+name+"="+string(dir))
		profile += `  (subpath (param "` + name + `"))` + "\n"
	}
	for _, path := range append(sinks[:len(sinks):len(sinks)], "/dev/tty", "/dev/ptmx", "/dev/dtracehelper") {
		// The last is opened by the loader of every program.
		profile += `  (literal "` + path + `")` + "\n"
	}
	// Terminals that are there, and those that are made meanwhile.
	profile += `  (regex #"^/dev/ttys[0-9]+$"))`
	args := append([]string{"sandbox-exec", "-p", profile}, params...)
	return append(append(args, "--"), argv...)
}
