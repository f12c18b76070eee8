-- Trigrams of `search_folded`. The table keeps neither the texts nor the places of the trigrams in them;
-- hits are compared with the text. Its rowids are those of `users`.
CREATE VIRTUAL TABLE users_search USING fts5(
  text, content='', contentless_delete=1, detail=none, tokenize='trigram case_sensitive 1'
);

-- Merging fewer, larger pieces of the index at a time makes creating users cheaper by a seventh.
INSERT INTO users_search (users_search, rank) VALUES ('automerge', 8);

-- Users whose trigrams are out of date. The writer brings them up to date once for all transactions
-- that share a commit: done in each transaction, it would cost more than the rest of it.
CREATE TABLE users_search_pending (
  user_rowid INTEGER NOT NULL PRIMARY KEY,
  was_indexed INTEGER NOT NULL
) STRICT;

CREATE TRIGGER users_search_insert AFTER INSERT ON users BEGIN
  INSERT INTO users_search_pending (user_rowid, was_indexed) VALUES (new.rowid, FALSE) ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER users_search_update AFTER UPDATE OF search_folded ON users WHEN old.search_folded <> new.search_folded BEGIN
  INSERT INTO users_search_pending (user_rowid, was_indexed) VALUES (new.rowid, TRUE) ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER users_search_delete AFTER DELETE ON users BEGIN
  INSERT INTO users_search_pending (user_rowid, was_indexed) VALUES (old.rowid, TRUE) ON CONFLICT DO NOTHING;
END;
