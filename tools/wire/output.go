package wire

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// queueBytes bounds the answers that wait for the client to read. A guess: several of the largest results.
const queueBytes = 8 << 20

// output writes lines in the order in which they were committed. Whoever has an answer first reserves room for it,
// which may mean to wait, then decides whether it is still wanted, then commits or releases: so no lock is held over
// the waiting, and a cancelled call is never answered.
type output struct {
	// Fixed by newOutput.
	w       io.Writer
	notes   <-chan mcp.JSONRPCNotification
	encode  func(mcp.JSONRPCNotification) *bytes.Buffer
	recycle func(*bytes.Buffer)
	wake    chan struct{} // one slot; for run alone
	gone    chan struct{} // closed when nothing more will be written: a Write failed, or abandon
	done    chan struct{} // closed when run has returned

	mu     sync.Mutex // guards what follows; not held over Write
	queue  []*bytes.Buffer
	held   int           // bytes reserved, queued or being written
	room   chan struct{} // closed and replaced when held shrinks
	closed bool          // run returns once the queue is empty
	dead   bool          // gone is closed
	err    error         // why, if a Write failed
}

func newOutput(w io.Writer, notes <-chan mcp.JSONRPCNotification, encode func(mcp.JSONRPCNotification) *bytes.Buffer, recycle func(*bytes.Buffer)) *output {
	return &output{
		w: w, notes: notes, encode: encode, recycle: recycle,
		wake: make(chan struct{}, 1), gone: make(chan struct{}), done: make(chan struct{}), room: make(chan struct{}),
	}
}

// reserve waits until n bytes have room; a line larger than the whole queue has when the queue is empty. It gives up
// when cancelled is closed or nothing more will be written. With force it does not wait and may take twice the room:
// for the read loop.
func (o *output) reserve(n int, cancelled <-chan struct{}, force bool) error {
	for {
		o.mu.Lock()
		room := o.room
		switch {
		case o.dead || o.closed:
			o.mu.Unlock()
			return errClosed
		case o.held == 0, o.held+n <= queueBytes, force && o.held+n <= 2*queueBytes:
			o.held += n
			o.mu.Unlock()
			return nil
		}
		o.mu.Unlock()
		if force {
			return errFull
		}
		select {
		case <-room:
		case <-cancelled:
			return errUnwanted
		case <-o.gone:
			return errClosed
		}
	}
}

// release gives n reserved bytes back.
func (o *output) release(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held -= n
	close(o.room)
	o.room = make(chan struct{})
}

// commit queues a line for which room was reserved, and keeps it.
func (o *output) commit(line *bytes.Buffer) {
	o.mu.Lock()
	o.queue = append(o.queue, line)
	o.mu.Unlock()
	o.signal()
}

// close lets run return when all that is queued has been written.
func (o *output) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.signal()
}

// abandon, for after close, gives up what is still queued and ends a Write under way, if w has SetWriteDeadline and it works. Otherwise run
// stays behind in that Write, until the other side reads or closes or the process ends.
func (o *output) abandon() {
	o.fail(nil)
	select {
	case <-o.done:
		return
	default:
	}
	if d, ok := o.w.(interface{ SetWriteDeadline(time.Time) error }); ok && d.SetWriteDeadline(time.Unix(1, 0)) == nil {
		<-o.done
	}
}

// fail ends the output; the first reason stays.
func (o *output) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dead {
		return
	}
	o.dead, o.err = true, err
	close(o.gone)
}

func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// queued returns how many bytes have not been written.
func (o *output) queued() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.held
}

func (o *output) signal() {
	select {
	case o.wake <- struct{}{}:
	default: // run has not taken the last one yet, and will see this too
	}
}

// run is the only writer. It returns after close when the queue is empty, after abandon, or when a Write has failed.
func (o *output) run() {
	defer close(o.done)
	for {
		batch, closed := o.collect()
		// Notifications first: what a handler sent is in the channel before its answer is in the queue, and a
		// client drops progress of a call that has ended.
		if !o.writeNotes() || !o.writeAll(batch) {
			return
		}
		if len(batch) > 0 {
			continue
		}
		if closed {
			return
		}
		select {
		case <-o.wake:
		case n := <-o.notes:
			if !o.writeNote(n) {
				return
			}
		case <-o.gone:
			return
		}
	}
}

func (o *output) collect() (batch []*bytes.Buffer, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	batch, o.queue = o.queue, nil
	return batch, o.closed
}

func (o *output) writeAll(batch []*bytes.Buffer) bool {
	for _, line := range batch {
		n := line.Len()
		if !o.write(line.Bytes()) {
			return false
		}
		o.recycle(line)
		o.release(n)
	}
	return true
}

// writeNotes writes what is in the channel now, and not what keeps coming.
func (o *output) writeNotes() bool {
	for range len(o.notes) { // run is the only receiver
		if !o.writeNote(<-o.notes) {
			return false
		}
	}
	return true
}

func (o *output) writeNote(n mcp.JSONRPCNotification) bool {
	line := o.encode(n)
	if line == nil {
		return true
	}
	defer o.recycle(line)
	return o.write(line.Bytes())
}

func (o *output) write(line []byte) bool {
	select {
	case <-o.gone:
		return false
	default:
	}
	n, err := o.w.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		o.fail(err)
		return false
	}
	return true
}
