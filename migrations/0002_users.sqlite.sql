-- Trigrams of every text a user can be found by. The table keeps no copy of the texts; triggers keep
-- it in step with `users`, whose rowids it shares.
CREATE VIRTUAL TABLE users_search USING fts5(
  id, emails, phones, username, wallets, names,
  content='', contentless_delete=1, tokenize='trigram case_sensitive 1'
);

CREATE TRIGGER users_search_insert AFTER INSERT ON users BEGIN
  INSERT INTO users_search (rowid, id, emails, phones, username, wallets, names)
  VALUES (new.rowid, lower(new.id), new.emails_folded, new.phones_folded, new.username_folded, new.wallets_folded, new.names_folded);
END;

CREATE TRIGGER users_search_delete AFTER DELETE ON users BEGIN
  DELETE FROM users_search WHERE rowid = old.rowid;
END;

CREATE TRIGGER users_search_update AFTER UPDATE OF emails_folded, phones_folded, username_folded, wallets_folded, names_folded ON users
WHEN (old.emails_folded, old.phones_folded, old.username_folded, old.wallets_folded, old.names_folded)
  IS NOT (new.emails_folded, new.phones_folded, new.username_folded, new.wallets_folded, new.names_folded)
BEGIN
  UPDATE users_search SET id = lower(new.id), emails = new.emails_folded, phones = new.phones_folded,
    username = new.username_folded, wallets = new.wallets_folded, names = new.names_folded
  WHERE rowid = new.rowid;
END;
