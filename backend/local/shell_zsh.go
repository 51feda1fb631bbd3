package local

import "strings"

// startZsh points ZDOTDIR at our .zshenv, the file that zsh always reads
// first, and which sends zsh back to the user's directory. (Wrappers for all
// four files would let the system's /etc/zshrc see the wrong ZDOTDIR.)
func startZsh(s *shellStart) (bool, error) {
	argv, norcs, ok := parseZsh(s.argv[1:])
	if !ok {
		return false, nil
	}
	_, err := s.write(".zshenv", "zshenv.zsh", append(s.secret(),
		"__ptykeep_norcs="+flag(norcs),
		s.saved("__ptykeep_zdotdir", "ZDOTDIR"),
		s.saved("__ptykeep_hist", "HISTFILE")))
	if err != nil {
		return false, err
	}
	s.setenv("ZDOTDIR", s.dir)
	if s.login {
		argv = append([]string{"-l"}, argv...)
	}
	s.argv = append(s.argv[:1:1], argv...)
	return true, nil
}

// parseZsh returns the arguments without those that keep zsh from reading
// .zshenv, and whether there were such. It refuses what runs a command or a
// script, and -p, with which zsh ignores ZDOTDIR.
func parseZsh(args []string) (kept []string, norcs, ok bool) {
	stdin := false
	for len(args) > 0 {
		arg := args[0]
		if arg == "-" || arg == "--" || arg == "-b" {
			break
		}
		if len(arg) < 2 || arg[0] != '-' && arg[0] != '+' {
			break
		}
		args = args[1:]
		if long, isLong := strings.CutPrefix(arg, "--"); isLong {
			if no, good := zshOption(long); !good {
				return nil, false, false
			} else if no {
				norcs = true
			} else {
				kept = append(kept, arg)
			}
			continue
		}
		letters := ""
		for i, c := range arg[1:] {
			switch {
			case strings.ContainsRune("cnpt", c):
				return nil, false, false
			case c == 'f' && arg[0] == '-':
				norcs = true
				continue
			case c == 's':
				stdin = true
			case c == 'o':
				// The name is the rest of the word, or the next one.
				name := arg[1+i+1:]
				if name == "" && len(args) > 0 {
					name, args = args[0], args[1:]
				}
				if no, good := zshOption(name); !good {
					return nil, false, false
				} else if no && arg[0] == '-' {
					norcs = true
				} else {
					kept = append(kept, arg[:1]+"o", name)
				}
			}
			if c == 'o' {
				break
			}
			letters += string(c)
		}
		if letters != "" {
			kept = append(kept, arg[:1]+letters)
		}
	}
	if len(args) > 1 && !stdin || len(args) == 1 && args[0] != "-" && args[0] != "--" && !stdin {
		return nil, false, false
	}
	return append(kept, args...), norcs, true
}

// zshOption judges the name of an option: norcs is -f, and some names stand
// for what is not an interactive shell or not zsh.
func zshOption(name string) (norcs, ok bool) {
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	switch name {
	case "norcs":
		return true, true
	case "version", "help", "emulate", "noexec", "privileged", "singlecommand", "":
		return false, false
	}
	return false, true
}
