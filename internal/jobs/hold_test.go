package jobs_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/jobs"
	"savant/internal/mongo"
	"savant/test/mongotest"
)

// A name has one holder at a time; one that sends heartbeats keeps it, and one that lets
// go of it says whether work is left.
func TestANameHasOneHolder(t *testing.T) {
	server := mongotest.Start(t)
	uri := server.URI(mongotest.NewDatabase())
	one, other := open(t, uri), open(t, uri)
	hold := func(queue *jobs.Queue, owner string) (func(bool), error) {
		return queue.Hold(t.Context(), "w/r", owner, 4*lease, func(jobs.Holder) {})
	}
	holder, err := other.Holder(t.Context(), "w/r")
	require.NoError(t, err)
	require.Zero(t, holder)
	release, err := hold(one, "one")
	require.NoError(t, err)
	_, err = hold(other, "other")
	require.ErrorIs(t, err, jobs.ErrHeld)
	holder, err = other.Holder(t.Context(), "w/r")
	require.NoError(t, err)
	require.True(t, holder.Holds && !holder.Left && !holder.HeartbeatOverdue && holder.Owner == "one", "%+v", holder)
	late, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}, Now: func() time.Time { return time.Now().Add(2 * jobs.HeartbeatLimit) }})
	require.NoError(t, err)
	t.Cleanup(func() { _ = late.Close(context.Background()) })
	holder, err = jobs.New(late.Collection("jobs")).Holder(t.Context(), "w/r")
	require.NoError(t, err)
	require.True(t, holder.HeartbeatOverdue)

	release(true)
	holder, err = other.Holder(t.Context(), "w/r")
	require.NoError(t, err)
	require.True(t, !holder.Holds && holder.Left, "%+v", holder)
	release, err = hold(other, "other")
	require.NoError(t, err)
	release(false)
	holder, err = one.Holder(t.Context(), "w/r")
	require.NoError(t, err)
	require.True(t, !holder.Holds && !holder.Left, "%+v", holder)
	require.NoError(t, one.Remove(t.Context(), "w/r"))
	holder, err = one.Holder(t.Context(), "w/r")
	require.NoError(t, err)
	require.Zero(t, holder)
}
