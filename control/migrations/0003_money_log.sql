-- The second half of format 3, after the edits of the older log were copied: that log goes, and the new one is closed.

DROP TABLE edit;

CREATE TRIGGER audit_is_not_updated BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

-- Without this, INSERT OR REPLACE would pass the trigger above: deletes that a conflict makes fire none.
CREATE TRIGGER audit_is_appended BEFORE INSERT ON audit
WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM audit)
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
