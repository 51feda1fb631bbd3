package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"time"
)

var errLong = errors.New("line is too long")

// lines cuts a stream at its newlines.
type lines struct {
	r   *bufio.Reader
	max int
	err error // what ended the stream; not read again, since a terminal would ask for more
}

// newLineReader reads as much at once as a pipe of Linux holds.
func newLineReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 64<<10) }

// next returns a line of its own memory, without its end. A line of more than max bytes is skipped as it is read and
// gives errLong; what stands before the end of input without a newline is a line too.
func (l *lines) next() ([]byte, error) {
	if l.err != nil {
		return nil, l.err
	}
	var line []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		part, whole := bytes.CutSuffix(part, []byte{'\n'})
		if long = long || len(line)+len(part) > l.max; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if whole || err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if !whole {
				l.err = err
			}
			break
		}
	}
	switch {
	case l.err != nil && !errors.Is(l.err, io.EOF):
		return nil, l.err // half a line of a broken stream is nobody's request
	case long:
		return nil, errLong
	case l.err != nil && len(line) == 0:
		return nil, l.err
	}
	return line, nil
}

// readLoop takes in lines until the input ends, which is no error, or the connection was stopped.
func (c *Conn) readLoop(base context.Context, r io.Reader) error {
	in := &lines{r: newLineReader(r), max: c.opt.MaxLine}
	for {
		line, err := in.next()
		switch {
		case c.isStopped():
			return nil
		case errors.Is(err, errLong):
			c.refuse(refusal{code: codeInvalidRequest, text: "request is longer than this server accepts"})
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		default:
			c.take(base, bytes.TrimSpace(line))
		}
	}
}

// interruptRead ends a Read of r that is under way, and tells whether it could. A file in blocking mode (stdin of a
// process, as a rule) refuses a deadline, and its Close would not end a Read either.
func interruptRead(r io.Reader) bool {
	if d, ok := r.(interface{ SetReadDeadline(time.Time) error }); ok {
		return d.SetReadDeadline(time.Unix(1, 0)) == nil
	}
	if c, ok := r.(io.Closer); ok {
		return c.Close() == nil
	}
	return false
}
