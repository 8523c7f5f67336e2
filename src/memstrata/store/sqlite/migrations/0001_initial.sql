-- Every row belongs to a scope (messages, memories) or a profile (scenes, persona); ids of both are local to this file.

CREATE TABLE scopes (
  id INTEGER PRIMARY KEY,
  instance TEXT NOT NULL,
  team TEXT NOT NULL,
  agent TEXT NOT NULL,
  user TEXT NOT NULL,
  UNIQUE (instance, team, agent, user)
) STRICT;

CREATE TABLE profiles (
  id INTEGER PRIMARY KEY,
  instance TEXT NOT NULL,
  team TEXT NOT NULL,
  agent TEXT NOT NULL,
  user TEXT NOT NULL,                               -- '' where all users of the agent share one profile
  scenes_at INTEGER NOT NULL DEFAULT 0,             -- when L2 last succeeded
  portrayed_at INTEGER NOT NULL DEFAULT 0,          -- when L3 last succeeded
  portrayed_memory INTEGER NOT NULL DEFAULT 0,      -- last memory that existed then
  portrayed_document INTEGER NOT NULL DEFAULT 0,    -- last scene version that was shown then
  persona_request TEXT NOT NULL DEFAULT '',         -- why L2 asks for a new portrait
  UNIQUE (instance, team, agent, user)
) STRICT;

CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  scope_id INTEGER NOT NULL REFERENCES scopes (id),
  session_id TEXT NOT NULL,
  cursor INTEGER NOT NULL DEFAULT 0,                -- last message that L1 has consumed
  warmup INTEGER NOT NULL DEFAULT 1,                -- rounds that start the next L1
  scene_name TEXT NOT NULL DEFAULT '',
  last_message_at INTEGER NOT NULL DEFAULT 0,       -- by the server's clock
  UNIQUE (scope_id, session_id)
) STRICT;

-- L0 ----------------------------------------------------------------------------------------------------------------

CREATE TABLE messages (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,            -- commit order: the only thing that cursors compare
  scope_id INTEGER NOT NULL REFERENCES scopes (id),
  session_key INTEGER NOT NULL REFERENCES sessions (id),
  message_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  role TEXT NOT NULL,
  content TEXT NOT NULL,
  said_at INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX messages_by_id ON messages (scope_id, message_id, session_key);
CREATE INDEX messages_by_session ON messages (session_key, seq, role);
CREATE INDEX messages_by_time ON messages (scope_id, said_at, seq);

-- Terms come analysed and prefixed with the scope's id, so that one tenant's words never weigh on another's. The rowid is
-- the message's seq: deleting needs no search.
CREATE VIRTUAL TABLE message_terms USING fts5 (
  terms, content = '', contentless_delete = 1, tokenize = "ascii tokenchars '_'"
);
CREATE VIRTUAL TABLE message_vocabulary USING fts5vocab (message_terms, row);

CREATE TABLE receipts (
  session_key INTEGER NOT NULL REFERENCES sessions (id),
  idempotency_key TEXT NOT NULL,
  payload BLOB NOT NULL,                            -- hash of what was sent
  message_ids TEXT NOT NULL,                        -- JSON list
  created_at INTEGER NOT NULL,
  PRIMARY KEY (session_key, idempotency_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_by_age ON receipts (created_at);

-- L1 ----------------------------------------------------------------------------------------------------------------

CREATE TABLE memories (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  scope_id INTEGER NOT NULL REFERENCES scopes (id),
  profile_id INTEGER NOT NULL REFERENCES profiles (id),
  memory_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  type TEXT NOT NULL,
  content TEXT NOT NULL,
  content_hash BLOB NOT NULL,
  priority INTEGER NOT NULL,
  scene_name TEXT NOT NULL,
  applies_to TEXT NOT NULL,
  slot TEXT NOT NULL,
  session_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  origin TEXT NOT NULL,
  happened_from INTEGER,
  happened_to INTEGER,
  metadata TEXT NOT NULL,                           -- JSON object
  created_at INTEGER NOT NULL,                      -- of the memory
  updated_at INTEGER NOT NULL,                      -- of this version
  valid_to INTEGER,                                 -- NULL while this version is live
  superseded_by INTEGER,                            -- seq of the version that took its place
  consumed INTEGER NOT NULL DEFAULT 0               -- whether a successful L2 has been shown it
) STRICT;
CREATE UNIQUE INDEX memories_by_id ON memories (memory_id, version);
CREATE INDEX memories_by_time ON memories (scope_id, updated_at, seq) WHERE valid_to IS NULL;
CREATE INDEX memories_by_content ON memories (scope_id, content_hash) WHERE valid_to IS NULL;
CREATE INDEX memories_by_slot ON memories (scope_id, slot) WHERE valid_to IS NULL AND slot <> '';
CREATE INDEX memories_unconsumed ON memories (profile_id, seq) WHERE valid_to IS NULL AND consumed = 0;
CREATE INDEX memories_by_profile ON memories (profile_id, seq);
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE VIRTUAL TABLE memory_terms USING fts5 (
  terms, content = '', contentless_delete = 1, tokenize = "ascii tokenchars '_'"
);
CREATE VIRTUAL TABLE memory_vocabulary USING fts5vocab (memory_terms, row);

CREATE TABLE memory_sources (
  memory_seq INTEGER NOT NULL REFERENCES memories (seq),
  message_seq INTEGER NOT NULL REFERENCES messages (seq),
  PRIMARY KEY (memory_seq, message_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_sources_by_message ON memory_sources (message_seq);

-- What was deleted on purpose is not extracted again from messages that were there at the time.
CREATE TABLE tombstones (
  scope_id INTEGER NOT NULL REFERENCES scopes (id),
  content_hash BLOB NOT NULL,
  up_to INTEGER NOT NULL,                           -- last message when it was deleted
  PRIMARY KEY (scope_id, content_hash)
) STRICT, WITHOUT ROWID;

-- L2 and L3 ---------------------------------------------------------------------------------------------------------

CREATE TABLE documents (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  profile_id INTEGER NOT NULL REFERENCES profiles (id),
  kind TEXT NOT NULL,
  path TEXT NOT NULL,
  version INTEGER NOT NULL,
  body TEXT NOT NULL,
  summary TEXT NOT NULL,
  heat INTEGER NOT NULL,
  origin TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  valid_to INTEGER
) STRICT;
CREATE UNIQUE INDEX documents_by_version ON documents (profile_id, kind, path, version);
CREATE UNIQUE INDEX documents_live ON documents (profile_id, kind, path) WHERE valid_to IS NULL;

CREATE TABLE document_sources (
  document_seq INTEGER NOT NULL REFERENCES documents (seq),
  memory_seq INTEGER NOT NULL REFERENCES memories (seq),
  PRIMARY KEY (document_seq, memory_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX document_sources_by_memory ON document_sources (memory_seq);

-- Work --------------------------------------------------------------------------------------------------------------

CREATE TABLE jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,             -- never reused, so that an old lease can never fit a new job
  kind TEXT NOT NULL,
  target INTEGER NOT NULL,                          -- sessions.id for l1, profiles.id for l2 and l3
  lock TEXT NOT NULL,                               -- jobs that share it never run at the same time
  due_at INTEGER NOT NULL,
  dead INTEGER NOT NULL DEFAULT 0,                  -- 1: in the dead letters
  attempts INTEGER NOT NULL DEFAULT 0,
  last_error TEXT NOT NULL DEFAULT '',
  fence INTEGER NOT NULL DEFAULT 0,                 -- rises with each claim
  lease_until INTEGER NOT NULL DEFAULT 0,
  worker TEXT NOT NULL DEFAULT '',
  UNIQUE (kind, target)
) STRICT;
CREATE INDEX jobs_due ON jobs (dead, due_at);
CREATE INDEX jobs_by_lock ON jobs (lock, lease_until);
CREATE INDEX jobs_leased ON jobs (lease_until) WHERE lease_until > 0;

CREATE TABLE runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  target INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  from_seq INTEGER NOT NULL,
  to_seq INTEGER NOT NULL,
  written INTEGER NOT NULL,
  retired INTEGER NOT NULL,
  origin TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  error TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_target ON runs (kind, target, id);

-- The readable mirror follows the rows; these say how far it is. ----------------------------------------------------

CREATE TABLE mirror_positions (
  name TEXT PRIMARY KEY,
  position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE mirror_files (
  path TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL                            -- what has been written and recorded; a longer file was torn
) STRICT, WITHOUT ROWID;

-- Files whose rows were deleted or changed and that must be written anew.
CREATE TABLE mirror_stale (
  kind TEXT NOT NULL,                               -- 'conversations', 'records', 'progress', 'profile'
  instance TEXT NOT NULL,
  name TEXT NOT NULL,                               -- a day, or a profile's id
  marks INTEGER NOT NULL DEFAULT 1,                 -- how often; cleared only if none came while it was written
  PRIMARY KEY (kind, instance, name)
) STRICT, WITHOUT ROWID;
