-- What SQLite's writer does before each commit: bring the trigrams of changed users up to date.
DELETE FROM users_search WHERE rowid IN (SELECT user_rowid FROM users_search_pending WHERE was_indexed);
INSERT INTO users_search (rowid, text) SELECT rowid, search_folded FROM users WHERE rowid IN (SELECT user_rowid FROM users_search_pending);
DELETE FROM users_search_pending;
