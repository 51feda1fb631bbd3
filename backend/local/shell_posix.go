package local

import (
	"os"
	"strings"
)

// startPosix has the shell read our file by ENV. The login files are read by
// our file too: they may set ENV, and the shell would not come to ours.
func startPosix(s *shellStart) (bool, error) {
	args, login, ok := parsePosix(s.argv[1:])
	if !ok {
		return false, nil
	}
	return s.posix(s.argv[:1:1], args, login)
}

// startBusybox is busybox called with the name of its shell.
func startBusybox(s *shellStart) (bool, error) {
	if len(s.argv) < 2 || s.argv[1] != "sh" && s.argv[1] != "ash" {
		return false, nil
	}
	args, login, ok := parsePosix(s.argv[2:])
	if !ok {
		return false, nil
	}
	return s.posix(s.argv[:2:2], args, login)
}

// posix writes the file and puts the command line together.
func (s *shellStart) posix(program, args []string, login bool) (bool, error) {
	ps1 := "$ "
	if os.Geteuid() == 0 {
		ps1 = "# "
	}
	left, right := "", ""
	if s.real == "busybox" {
		left, right = `\[`, `\]`
	}
	file, err := s.write("env", "posix.sh", append(s.secret(),
		"__ptykeep_login="+flag(login || s.login),
		"__ptykeep_esc='\x1b' __ptykeep_bel='\a' __ptykeep_soh='\x01' __ptykeep_cr='\r'",
		"__ptykeep_ps1="+quote(ps1),
		"__ptykeep_l="+quote(left)+" __ptykeep_r="+quote(right),
		s.saved("__ptykeep_env", "ENV"),
		s.saved("__ptykeep_hist", "HISTFILE")))
	if err != nil {
		return false, err
	}
	s.setenv("ENV", file)
	s.argv = append(append(program, "-i"), args...)
	return true, nil
}

// parsePosix returns the arguments without -l. Scripts and commands are
// refused, and so are -p and -r, which keep a shell from reading ENV.
func parsePosix(args []string) (kept []string, login, ok bool) {
	for len(args) > 0 {
		arg := args[0]
		if len(arg) < 2 || arg[0] != '-' && arg[0] != '+' || strings.HasPrefix(arg, "--") {
			break
		}
		args = args[1:]
		if strings.ContainsAny(arg[1:], "cnpr") {
			return nil, false, false
		}
		if arg[0] == '-' && strings.Contains(arg, "l") {
			login = true
			arg = strings.ReplaceAll(arg, "l", "")
		}
		if arg != "-" {
			kept = append(kept, arg)
		}
		for range strings.Count(arg, "o") {
			if len(args) > 0 {
				kept, args = append(kept, args[0]), args[1:]
			}
		}
	}
	return kept, login, len(args) == 0
}
