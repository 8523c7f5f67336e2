-- What the proxy keeps of clients' sessions. A session row is what everything else hangs on, and goes with. -------------

CREATE TABLE proxy_sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  instance TEXT NOT NULL,
  user TEXT NOT NULL,
  client TEXT NOT NULL,
  session TEXT NOT NULL,
  outcome TEXT NOT NULL DEFAULT '',                 -- 'bound', 'declined', 'asking'; '': nothing was decided yet
  team TEXT NOT NULL DEFAULT '',
  agent TEXT NOT NULL DEFAULT '',
  task TEXT NOT NULL DEFAULT '',
  form BLOB NOT NULL DEFAULT x'',                   -- of the form that is open; the proxy's own business
  recall_off INTEGER NOT NULL DEFAULT 0,            -- 0, 1
  write_off INTEGER NOT NULL DEFAULT 0,
  main_tools TEXT NOT NULL DEFAULT '',              -- digests of the last main request
  main_system TEXT NOT NULL DEFAULT '',
  main_first TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  touched_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX proxy_sessions_by_name ON proxy_sessions (instance, user, client, session);
CREATE INDEX proxy_sessions_by_agent ON proxy_sessions (instance, team, agent, user);
CREATE INDEX proxy_sessions_by_age ON proxy_sessions (touched_at);

CREATE TABLE proxy_defaults (
  instance TEXT NOT NULL,
  user TEXT NOT NULL,
  team TEXT NOT NULL,
  agent TEXT NOT NULL,
  task TEXT NOT NULL,
  PRIMARY KEY (instance, user)
) STRICT, WITHOUT ROWID;

CREATE TABLE proxy_snapshots (
  session_key INTEGER PRIMARY KEY REFERENCES proxy_sessions (id) ON DELETE CASCADE,
  block BLOB NOT NULL,
  sha256 TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE proxy_ledger (
  id INTEGER PRIMARY KEY,
  session_key INTEGER NOT NULL REFERENCES proxy_sessions (id) ON DELETE CASCADE,
  chain BLOB NOT NULL,                              -- of the conversation up to the message
  block BLOB NOT NULL,                              -- as it went out; empty: nothing was put there, and nothing ever will
  shown TEXT NOT NULL,                              -- JSON: [memory id, digest of its wording] of each in the block
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX proxy_ledger_by_session ON proxy_ledger (session_key, chain);
CREATE INDEX proxy_ledger_by_chain ON proxy_ledger (chain, created_at);

CREATE TABLE proxy_turns (
  id INTEGER PRIMARY KEY,                           -- in the order in which they were opened
  turn_id TEXT NOT NULL,
  session_key INTEGER NOT NULL REFERENCES proxy_sessions (id) ON DELETE CASCADE,
  team TEXT NOT NULL,
  agent TEXT NOT NULL,
  task TEXT NOT NULL,
  question TEXT NOT NULL,                           -- '' once delivered, like the answer
  answer TEXT NOT NULL,
  state TEXT NOT NULL,                              -- 'open', 'ready', 'delivered', 'parked'
  complete INTEGER NOT NULL DEFAULT 0,              -- 1: the final answer was seen
  answered INTEGER NOT NULL DEFAULT 0,              -- 1: the provider accepted a request of it
  opened_at INTEGER NOT NULL,
  touched_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL DEFAULT 0,
  error TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX proxy_turns_by_session ON proxy_turns (session_key, turn_id);
CREATE INDEX proxy_turns_open ON proxy_turns (touched_at) WHERE state = 'open';
CREATE INDEX proxy_turns_open_of ON proxy_turns (session_key, id) WHERE state = 'open';
CREATE INDEX proxy_turns_ready ON proxy_turns (due_at) WHERE state = 'ready';
CREATE INDEX proxy_turns_ready_of ON proxy_turns (session_key, id) WHERE state = 'ready';
CREATE INDEX proxy_turns_waiting ON proxy_turns (state, session_key, opened_at) WHERE state <> 'delivered';

CREATE TABLE proxy_usage (
  instance TEXT NOT NULL,
  day TEXT NOT NULL,                                -- YYYY-MM-DD, UTC
  user TEXT NOT NULL,                               -- '': forgotten
  model TEXT NOT NULL,
  requests INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  PRIMARY KEY (instance, day, user, model)
) STRICT, WITHOUT ROWID;

-- By second; what is older than a window is over.
CREATE TABLE proxy_rates (
  instance TEXT NOT NULL,
  key TEXT NOT NULL,
  model TEXT NOT NULL,
  second INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  PRIMARY KEY (instance, key, model, second)
) STRICT, WITHOUT ROWID;
CREATE INDEX proxy_rates_by_age ON proxy_rates (second);
