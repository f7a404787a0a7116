package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/lmittmann/tint"

	"savant/cmd/savant/terminal"
	"savant/internal/logfile"
	"savant/internal/ownfolder"
	"savant/internal/pattern"
	"savant/internal/redact"
	"savant/internal/settings"
	"savant/internal/visible"
)

const (
	logName = "savant.log"
	// maxLog is the size in bytes above which the log is rotated to savant.log.1.
	maxLog = 10 << 20
)

// openLog logs to stderr, for people, and to the file, as JSON lines; never to stdout,
// which is the protocol's. Secrets are redacted, and paths below SAVANT_PATH are
// relative.
func (a *App) openLog() {
	a.log = &logFile{complain: a.logLines()}
	if a.openLogFolder() {
		a.log.file = logfile.New(a.Root, path.Join(a.logs, logName), maxLog)
	}
	clean := cleaning(a.redactor, a.Path)
	a.Logger = slog.New(slog.NewMultiHandler(a.screen(clean),
		slog.NewJSONHandler(a.log, &slog.HandlerOptions{Level: a.settings.LogLevel, ReplaceAttr: clean})))
	logOfLibraries(a.Logger)
	if a.options.Settings.Exposed {
		a.Logger.Warn(ExposedFile)
	}
}

// openLogFolder chooses the folder of logs and reports whether logs are written. It
// logs the creation of an unusual one.
func (a *App) openLogFolder() (written bool) {
	a.logs = ownfolder.LogFolder(a.Root)
	_, err := a.Root.Lstat(a.logs)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && a.options.Looking:
		return false
	case missing && a.logs != ownfolder.Logs && ownfolder.Mkdir(a.Root, a.logs, 0o700) == nil:
		fmt.Fprintf(a.options.Stderr, "savant: %s\n", LogsElsewhere)
	}
	return true
}

// LogsElsewhere says why the folder of logs is not the usual one.
const LogsElsewhere = "the logs go to " + ownfolder.StateLogs + "/: " + ownfolder.Logs + "/ exists and was not made by Savant"

// ExposedFile warns that others on the machine may read a secret in the file of
// settings.
const ExposedFile = settings.FileName + " holds a secret and others on this machine may read it: chmod 600 " + settings.FileName

// logOfLibraries redirects the default loggers of libraries to this log, at level
// debug: net/http, for example, quotes unsolicited responses.
func logOfLibraries(logger *slog.Logger) {
	log.SetFlags(0)
	log.SetOutput(slog.NewLogLogger(logger.Handler(), slog.LevelDebug).Writer())
}

// attributes rewrites log attributes.
type attributes func(groups []string, a slog.Attr) slog.Attr

// cleaning redacts secrets, makes the folder's paths relative and escapes invisible
// characters: an error may quote anything.
func cleaning(redactor *redact.Redactor, folder string) attributes {
	relative := relativePaths(folder)
	text := func(said string) slog.Value {
		return slog.StringValue(visible.Characters(redactor.Text(relative(said))))
	}
	return func(_ []string, a slog.Attr) slog.Attr {
		switch value := a.Value.Any().(type) {
		case string:
			a.Value = text(value)
		case slog.Level, time.Time, time.Duration, bool, int64, uint64, float64:
		case error:
			a.Value = text(value.Error())
		case fmt.Stringer:
			a.Value = text(value.String())
		default:
			a.Value = slog.AnyValue(redactor.Value(value))
		}
		return a
	}
}

// screenLevel is the lowest level shown on stderr. A command reports its own results,
// so by default only warnings are shown; a server shows more, since it has only its
// log.
func (a *App) screenLevel() slog.Level {
	if a.options.Serving || a.options.Settings.IsSet(settings.EnvLogLevel) {
		return a.settings.LogLevel
	}
	return max(a.settings.LogLevel, slog.LevelWarn)
}

func (a *App) screen(clean attributes) slog.Handler {
	level, out := a.screenLevel(), a.options.Stderr
	if terminal.IsTerminal(out) {
		return tint.NewTextHandler(a.logLines(), &tint.Options{Level: level, NoColor: !terminal.Coloured(out, a.variable), ReplaceAttr: clean})
	}
	return slog.NewTextHandler(a.logLines(), &slog.HandlerOptions{Level: level, ReplaceAttr: clean})
}

// logLines returns where lines for people are written.
func (a *App) logLines() io.Writer {
	if a.options.LogLines != nil {
		return a.options.LogLines
	}
	return a.options.Stderr
}

// logFile is savant.log in the folder of logs. A write failure is reported once, also with
// the files of the telemetry, and the work continues.
type logFile struct {
	complain io.Writer
	causes   logfile.Causes

	mu   sync.Mutex
	file *logfile.File // nil if nothing is written
	lost bool
}

// Write appends one record. It never fails: a step must not fail because of the log.
func (l *logFile) Write(record []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost || l.file == nil {
		return len(record), nil
	}
	if _, err := l.file.Append(visible.JSON(record)); err != nil {
		l.lost = true
		if cause := ownfolder.Reason(err).Error(); l.causes.First(cause) {
			fmt.Fprintf(l.complain, "savant: warning: %s cannot be written: %s\n", l.file.Name(), cause)
		}
	}
	return len(record), nil
}

// Close closes the file.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = true
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// relativePaths returns a function that makes absolute paths below a folder relative, anywhere
// in a text: "open /home/ada/project/logs: …" becomes "open logs: …" in
// /home/ada/project. Longer names with this prefix are left.
func relativePaths(folder string) func(text string) string {
	if !filepath.IsAbs(folder) || filepath.Dir(folder) == folder || !utf8.ValidString(folder) {
		return func(text string) string { return text }
	}
	prefix := folder + string(filepath.Separator)
	below := pattern.Lazy(`(^|[^\pL\pN_.-])` + regexp.QuoteMeta(prefix))
	return func(text string) string {
		if !strings.Contains(text, prefix) {
			return text
		}
		return below().ReplaceAllString(text, "$1")
	}
}
