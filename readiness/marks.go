package readiness

import "github.com/ptykeep/ptykeep/backend"

// Marks is what the session's own shell has said of itself by its marks
// (OSC 6973 with the session's nonce, see backend/local). They tell where the
// shell is; that it waits there is for the kernel to say.
type Marks struct {
	At    Place // the latest mark
	Fresh bool  // a prompt or continuation mark came since the write
	Begun bool  // a prompt has begun and has not come to its end
}

// Place is where a shell with marks is.
type Place uint8

// The places, in the order in which a command passes them.
const (
	Nowhere        Place = iota // no mark yet, or no shell with marks
	AtPrompt                    // its prompt is drawn, or being drawn
	InCommand                   // a command runs
	AtContinuation              // it asks for the rest of the command
)

// place is the state that the marks give, "" if they give none. Marks speak
// for the session's own program only, and not of an earlier prompt while the
// program in front is another (exec, a nested shell, a background mark).
func (m Marks) place(f Facts) State {
	if !f.Now.Own {
		return ""
	}
	// What waits with a timer before the prompt is complete is one of the user's
	// hooks (read -t in PROMPT_COMMAND).
	if m.Begun && f.Now.Wait != backend.WaitExact {
		return ""
	}
	switch m.At {
	case AtPrompt:
		return Prompt
	case AtContinuation:
		return Continuation
	}
	return ""
}
