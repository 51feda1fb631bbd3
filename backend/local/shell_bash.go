package local

import (
	"slices"
	"strings"
)

// startBash starts bash with our file in the place of the user's, which it
// then reads itself. Two ways lead to it: --rcfile where bash would have read
// ~/.bashrc, after the distribution's bash.bashrc; else --posix with ENV, the
// only combination in which bash reads one file of our choice and nothing
// else, login shell or not (shell.c, run_startup_files; same in 3.2 to 5.3).
func startBash(s *shellStart) (bool, error) {
	args, ok := parseBash(s.argv[1:])
	if !ok {
		return false, nil
	}
	_, strict := s.getenv("POSIXLY_CORRECT")
	asSh := s.name == "sh"
	posix := args.posix || strict || asSh
	args.login = args.login || s.login

	files, byEnv := "rc", true
	switch {
	case posix:
		// bash --posix -l reads no profile, sh -l does.
		files = "env"
		if args.login && asSh && !args.noprofile {
			files = "profile"
		}
	case args.login && args.noprofile, !args.login && args.norc:
		files = ""
	case args.login:
		files = "login"
	default:
		byEnv = false
	}
	file, err := s.write("bashrc", "bash.sh", append(s.secret(),
		"__ptykeep_files="+files,
		"__ptykeep_rc="+args.rcfile,
		"__ptykeep_byenv="+flag(byEnv),
		"__ptykeep_unposix="+flag(byEnv && !posix),
		s.saved("__ptykeep_env", "ENV"),
		s.saved("__ptykeep_hist", "HISTFILE")))
	if err != nil {
		return false, err
	}

	argv := s.argv[:1:1]
	switch {
	case !byEnv:
		argv = append(argv, "--rcfile", file)
	case !posix:
		argv = append(argv, "--posix")
		s.setenv("ENV", file)
	default:
		s.setenv("ENV", file)
	}
	argv = append(argv, args.long...)
	if args.login && !posix {
		argv = append(argv, "--login")
	}
	argv = append(argv, "-i")
	s.argv = append(argv, args.short...)
	return true, nil
}

// bashArgs is a command line of bash that starts an interactive shell.
type bashArgs struct {
	long, short                   []string // to be passed on
	rcfile                        string   // a word for the script
	login, posix, norc, noprofile bool
}

// parseBash reads the arguments as bash does: long options come first, with
// one dash or two, then the short ones.
func parseBash(args []string) (a bashArgs, ok bool) {
	a.rcfile = "~/.bashrc"
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name := strings.TrimPrefix(strings.TrimPrefix(args[0], "-"), "-")
		switch name {
		case "rcfile", "init-file":
			if len(args) < 2 {
				return a, false
			}
			a.rcfile, args = quote(args[1]), args[1:]
		case "login":
			a.login = true
		case "posix":
			a.posix = true
			a.long = append(a.long, "--posix")
		case "norc":
			a.norc = true
		case "noprofile":
			a.noprofile = true
		case "noediting", "verbose", "debugger", "noline-editing":
			a.long = append(a.long, args[0])
		default:
			if strings.HasPrefix(args[0], "--") && name != "" {
				return a, false // --version, --help, --restricted, unknown
			}
			return a, a.parseShort(args)
		}
		args = args[1:]
	}
	return a, a.parseShort(args)
}

// parseShort reads what follows the long options. Anything that is a script
// or a command is refused, and so are -r and -p, with which bash would not do
// what our file needs.
func (a *bashArgs) parseShort(args []string) bool {
	stdin := false
	for len(args) > 0 {
		arg := args[0]
		if arg == "-" || arg == "--" {
			args = args[1:]
			break
		}
		if len(arg) < 2 || !strings.ContainsAny(arg[:1], "-+") {
			break
		}
		if strings.ContainsAny(arg[1:], "crpDn") {
			return false
		}
		stdin = stdin || strings.Contains(arg, "s")
		if strings.Contains(arg, "l") && arg[0] == '-' {
			a.login = true
			arg = strings.ReplaceAll(arg, "l", "")
		}
		args = args[1:]
		if arg != "-" {
			a.short = append(a.short, arg)
		}
		// -o and -O are followed by a name, one for each.
		for range strings.Count(arg, "o") + strings.Count(arg, "O") {
			if len(args) > 0 {
				a.posix = a.posix || args[0] == "posix" && arg[0] == '-'
				a.short = append(a.short, args[0])
				args = args[1:]
			}
		}
	}
	if len(args) > 0 && !stdin {
		return false
	}
	if len(args) > 0 {
		a.short = append(slices.Clip(a.short), "--")
		a.short = append(a.short, args...)
	}
	return true
}

// flag is a truth value for a script.
func flag(on bool) string {
	if on {
		return "1"
	}
	return ""
}
