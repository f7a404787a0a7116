package state

// settle makes the file end with the last whole record, on the disk too,
// before this process builds on what it did not write itself. What a crash left
// behind that record is cut off. The record is written again, since a sync that
// failed in a process now gone may have left it in memory only, where the next
// sync takes it for written.
func (j *journal) settle() error {
	if j.tip.settled || j.tip.file.size == 0 {
		return nil
	}
	err := j.rewriteEnd()
	if err == nil {
		err = j.file.Sync()
	}
	if err == nil {
		j.tip.file, err = j.file.Stat()
	}
	if err != nil {
		return j.distrust(err)
	}
	j.tip.settled, j.tip.doubt = true, false
	return nil
}

func (j *journal) rewriteEnd() error {
	line, err := readRange(j.file, j.tip.last, j.tip.end)
	if err != nil {
		return err
	}
	if j.tip.file.size > j.tip.end {
		if err := j.file.Truncate(j.tip.end); err != nil {
			return err
		}
	}
	_, err = j.file.WriteAt(line, j.tip.last)
	return err
}

// append writes a line and waits until the disk has it: one write, one sync.
// The caller holds the journal for writing.
func (j *journal) append(link Link, line []byte) error {
	_, err := j.file.WriteAt(line, j.tip.end)
	if err == nil {
		err = j.commit(line)
	}
	if err != nil {
		j.undo()
		return notSaved(j.name, err)
	}
	j.tip.add(link, len(line))
	j.tip.settled, j.tip.doubt = true, false
	// Where the stat fails the tip is not fresh, and the next step reads.
	j.tip.file, _ = j.file.Stat()
	return nil
}

// commit is the one sync of a step, of the journal or of what runs share.
func (j *journal) commit(line []byte) error {
	if j.tip.Version > 0 && j.group.share(j.key, line) {
		return nil
	}
	err := j.file.Sync()
	if err != nil {
		j.group.distrust()
	}
	return err
}

// undo cuts off what a failed append may have written. The next use opens the
// file anew and verifies it, whether or not that worked: after a failed write
// or sync the system's view of a file may not be the disk's.
func (j *journal) undo() {
	err := j.file.Truncate(j.tip.end)
	j.close()
	j.tip = tip{doubt: err != nil}
}
