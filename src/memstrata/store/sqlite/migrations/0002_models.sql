-- Distillation with models: how each row came about, what it cost, and what an operator adds to the prompts.

-- Tries that were put off for no fault of the input, in a row.
ALTER TABLE jobs ADD COLUMN deferred INTEGER NOT NULL DEFAULT 0;

-- 1: somebody wants what is left after the run under way at once.
ALTER TABLE jobs ADD COLUMN hurried INTEGER NOT NULL DEFAULT 0;

-- First message that rules distilled, NULL when none: where a model starts again once there is one.
ALTER TABLE sessions ADD COLUMN rules_from INTEGER;
CREATE INDEX sessions_by_rules ON sessions (rules_from) WHERE rules_from IS NOT NULL;
UPDATE sessions SET rules_from = (
  SELECT min(r.from_seq) FROM runs r
  WHERE r.kind = 'l1' AND r.target = sessions.id AND r.origin = 'rules' AND r.outcome IN ('items', 'nothing')
);

ALTER TABLE runs ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN mode TEXT NOT NULL DEFAULT 'chat';
ALTER TABLE runs ADD COLUMN prompt_id TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN prompt_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN prompt_source TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN prompt_sha256 TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN prompt_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN completion_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN notes TEXT NOT NULL DEFAULT '[]';        -- JSON list
CREATE INDEX runs_by_time ON runs (finished_at, id);

-- What a run wrote or touched, row by row. Row numbers, never contents: they go when the rows go.
CREATE TABLE run_outputs (
  layer TEXT NOT NULL,                              -- 'l1', 'l2', 'l3'
  seq INTEGER NOT NULL,                             -- memories.seq for l1, documents.seq for l2 and l3
  run_id INTEGER NOT NULL REFERENCES runs (id),
  action TEXT NOT NULL,
  inputs TEXT NOT NULL,                             -- JSON list of rows of the layer below
  replaced TEXT NOT NULL,                           -- JSON list of rows of the same layer
  note TEXT NOT NULL,
  PRIMARY KEY (layer, seq, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_outputs_by_run ON run_outputs (run_id);

-- Messages that no model takes, put aside so that their session goes on; a retry brings them back.
CREATE TABLE parked (
  message_seq INTEGER PRIMARY KEY REFERENCES messages (seq),
  session_key INTEGER NOT NULL REFERENCES sessions (id),
  reason TEXT NOT NULL,
  parked_at INTEGER NOT NULL,
  revived INTEGER NOT NULL DEFAULT 0                -- 1: to be distilled with the next batch
) STRICT;
CREATE INDEX parked_by_session ON parked (session_key, revived);

-- Messages that a deleted memory rested on. Read again, by a model after rules, they give nothing any more: a model words
-- things anew, so equal words cannot be relied on.
CREATE TABLE spent_messages (
  message_seq INTEGER PRIMARY KEY REFERENCES messages (seq)
) STRICT;

CREATE TABLE spending (
  instance TEXT NOT NULL,
  day TEXT NOT NULL,                                -- YYYY-MM-DD, UTC
  team TEXT NOT NULL,
  agent TEXT NOT NULL,
  user TEXT NOT NULL,
  role TEXT NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  estimated INTEGER NOT NULL,
  PRIMARY KEY (instance, day, team, agent, user, role)
) STRICT, WITHOUT ROWID;

CREATE TABLE prompts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  instance TEXT NOT NULL,
  prompt_id TEXT NOT NULL,
  name TEXT NOT NULL,
  layer TEXT NOT NULL,
  text TEXT NOT NULL,
  version INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  updated_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (instance, prompt_id)
) STRICT;
CREATE INDEX prompts_by_time ON prompts (instance, created_at, id);

-- A prompt bound to an instance (team and agent ''), a team (agent ''), or an agent.
CREATE TABLE prompt_settings (
  instance TEXT NOT NULL,
  team TEXT NOT NULL,
  agent TEXT NOT NULL,
  layer TEXT NOT NULL,
  prompt_id TEXT NOT NULL,
  updated_by TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (instance, team, agent, layer)
) STRICT, WITHOUT ROWID;
CREATE INDEX prompt_settings_by_prompt ON prompt_settings (instance, prompt_id);

CREATE TABLE prompt_changes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  instance TEXT NOT NULL,
  team TEXT NOT NULL,
  agent TEXT NOT NULL,
  layer TEXT NOT NULL,
  action TEXT NOT NULL,                             -- 'apply', 'replace', 'clear'
  reason TEXT NOT NULL,                             -- 'explicit', 'prompt_deleted'
  before_prompt_id TEXT NOT NULL,
  after_prompt_id TEXT NOT NULL,
  operator TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX prompt_changes_by_time ON prompt_changes (instance, at, id);
