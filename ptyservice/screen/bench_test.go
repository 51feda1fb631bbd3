package screen

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

// loads are the inputs of the benchmarks, 1 MiB or a little more of each.
func loads() []struct {
	name string
	data []byte
} {
	repeat := func(f func(i int) string) []byte {
		var b bytes.Buffer
		for i := 0; b.Len() < 1<<20; i++ {
			b.WriteString(f(i))
		}
		return b.Bytes()
	}
	words := strings.Repeat("compile internal/terminal ok ", 4)
	return []struct {
		name string
		data []byte
	}{
		{"plain", repeat(func(i int) string { return fmt.Sprintf("%06d %s\r\n", i, words[:70+i%40]) })},
		{"colour", repeat(func(i int) string {
			return fmt.Sprintf("\x1b[32m%06d\x1b[0m \x1b[1;38;5;%dm%s\x1b[0m %s\r\n", i, i%256, words[:30], words[:20])
		})},
		{"cursor", repeat(func(i int) string {
			return fmt.Sprintf("\x1b[%d;%dH\x1b[K%s%d", i%40+1, i%60+1, words[:20], i)
		})},
		{"progress", repeat(func(i int) string {
			return "\r\x1b[2K" + words[:60] + fmt.Sprint(i%100) + "% [" + strings.Repeat("#", i%30) + "]"
		})},
		{"unicode", repeat(func(i int) string {
			return "日本語のテキスト ✓ cafe\u0301 naïve → 🚀 данные " + fmt.Sprint(i) + "\r\n"
		})},
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, l := range loads() {
		b.Run(l.name, func(b *testing.B) {
			s := New(Config{Cols: 120, Rows: 40, Lines: 10000, Bytes: 4 << 20})
			b.SetBytes(int64(len(l.data)))
			b.ReportAllocs()
			for b.Loop() {
				for p := l.data; len(p) > 0; {
					n := min(len(p), 32<<10)
					s.Write(p[:n])
					p = p[n:]
				}
			}
		})
	}
}

// BenchmarkFloor is what any reader must do: split, validate, keep.
func BenchmarkFloor(b *testing.B) {
	for _, l := range loads() {
		b.Run(l.name, func(b *testing.B) {
			ring := make([][]byte, 10000)
			i := 0
			b.SetBytes(int64(len(l.data)))
			for b.Loop() {
				for p := l.data; len(p) > 0; {
					line, rest, _ := bytes.Cut(p, []byte{'\n'})
					if utf8.Valid(line) {
						ring[i%len(ring)] = append(ring[i%len(ring)][:0], line...)
						i++
					}
					p = rest
				}
			}
		})
	}
}

// BenchmarkChanges is one changed row of a full screen.
func BenchmarkChanges(b *testing.B) {
	s := New(Config{Cols: 160, Rows: 40, Lines: 100, Bytes: 1 << 20})
	for range 60 {
		s.Write([]byte(strings.Repeat("x", 150) + "\r\n"))
	}
	for i := 0; b.Loop(); i++ {
		s.Write([]byte{'\r', 'a' + byte(i%26)})
		s.Changes()
	}
}

// BenchmarkMemory reports the heap that 10,000 lines of 120 columns take.
func BenchmarkMemory(b *testing.B) {
	line := []byte(strings.Repeat("x", 119) + "y\r\n")
	var m0, m1 runtime.MemStats
	var s *Screen
	for b.Loop() {
		s = nil
		runtime.GC()
		runtime.ReadMemStats(&m0)
		s = New(Config{Cols: 120, Rows: 40, Lines: 10000, Bytes: 4 << 20})
		for range 12000 {
			s.Write(line)
		}
		runtime.GC()
		runtime.ReadMemStats(&m1)
	}
	lines := float64(s.log.next - s.First())
	b.ReportMetric(float64(m1.HeapAlloc-m0.HeapAlloc)/lines, "heap-B/line")
	b.ReportMetric(float64(m1.HeapAlloc-m0.HeapAlloc)/(1<<20), "heap-MiB")
}
