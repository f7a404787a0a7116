package remote

import (
	"context"
	"path/filepath"
	"time"

	"savant/cmd/savant/app"
	"savant/engines/mcpio"
	"savant/internal/access"
	"savant/internal/regular"
	"savant/think/gate/sessions"
)

// QuestionsOf returns what the servers of a folder remember of questions: in the database
// that has its runs, or in the user's configuration folder. Without either, or if that
// folder is part of what is served, a question is answered at the server that asked.
func QuestionsOf(a *app.App, configuration string) mcpio.Questions {
	if shared, is := a.Store.(sessions.Shared); is {
		return sharedQuestions{shared}
	}
	folder := filepath.Join(configuration, "savant", "questions")
	if configuration == "" || regular.Controls(a.Path, folder) {
		return nil
	}
	return access.Questions{Folder: folder, Project: a.Path}
}

// sharedQuestions are in a database.
type sharedQuestions struct{ database sessions.Shared }

// questionMark begins the names of questions among those of calls.
const questionMark = "question "

// Asked implements mcpio.Questions.
func (s sharedQuestions) Asked(ctx context.Context, question string) error {
	return s.database.Announce(ctx, questionMark+question)
}

// Take implements mcpio.Questions.
func (s sharedQuestions) Take(ctx context.Context, question string, within time.Duration) (bool, error) {
	return s.database.Announced(ctx, questionMark+question, within)
}
