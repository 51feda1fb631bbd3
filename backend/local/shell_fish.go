package local

import "strings"

// startFish has fish read our file after the user's configuration.
func startFish(s *shellStart) (bool, error) {
	if !fishInteractive(s.argv[1:]) {
		return false, nil
	}
	file, err := s.write("config.fish", "config.fish", []string{
		// -u: an outer environment may have exported the name.
		"set -gu __ptykeep_nonce " + quoteFish(s.nonce),
	})
	if err != nil {
		return false, err
	}
	argv := append(s.argv[:1:1], "--init-command", "source "+quoteFish(file))
	if s.login {
		argv = append(argv, "--login")
	}
	s.argv = append(argv, s.argv[1:]...)
	return true, nil
}

// fishInteractive tells whether args start a shell at a prompt: all of them
// are options that do not prevent that.
func fishInteractive(args []string) bool {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, _, hasValue := strings.Cut(arg, "=")
		switch name {
		case "--login", "--interactive", "--no-config", "--private", "-l", "-i", "-N", "-P", "-li", "-il":
		case "--init-command", "--features", "--debug", "--debug-output", "-C", "-f", "-d", "-o":
			if !hasValue && len(args) > 0 {
				args = args[1:]
			}
		default:
			return false
		}
	}
	return true
}

// quoteFish makes a word of s for fish, where \ is special in quotes too.
func quoteFish(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
