package main

import (
	"io"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A small heap has room, a large one as little as is bearable.
func TestTheHeapHasRoom(t *testing.T) {
	const megabyte = 1 << 20
	for live, want := range map[uint64]int{1: 400, megabyte: 400, 6 * megabyte: 400, 8 * megabyte: 237, 16 * megabyte: 87, 24 * megabyte: 50, 1 << 40: 50} {
		require.Equal(t, want, growthFor(live, heapRoom), "%d bytes", live)
	}
}

// The collector is adapted to the heap while a server runs, and is as it was
// afterwards.
func TestTheCollectorFollowsTheHeap(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	percent := func() uint64 { // setting it to see what it was would undo what is set meanwhile
		now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(now)
		return now[0].Value.Uint64()
	}
	p := newProgram([]string{"GOGC=70"}, nil, io.Discard, io.Discard, (*house).addEngines)
	p.tendHeap(&crowd{})()
	require.Equal(t, uint64(100), percent(), "who sets GOGC knows better")

	p = newProgram(nil, nil, io.Discard, io.Discard, (*house).addEngines)
	end := p.tendHeap(&crowd{})
	large := make([]byte, 64<<20)
	require.Eventually(t, func() bool { runtime.GC(); return percent() == 50 }, hang, time.Millisecond)
	runtime.KeepAlive(large)
	large = nil
	require.Eventually(t, func() bool { runtime.GC(); return percent() > 50 }, hang, time.Millisecond)
	end()
	require.Equal(t, uint64(100), percent())
	require.Never(t, func() bool { runtime.GC(); return percent() != 100 }, 50*time.Millisecond, 5*time.Millisecond)
}
