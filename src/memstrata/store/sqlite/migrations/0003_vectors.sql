-- Vectors of memories and messages. Text never waits for them: a row without one, or with one of another model, is found
-- by keyword and given one in the background.

CREATE TABLE vector_models (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,                               -- provider, model and version: equal names, comparable vectors
  dimensions INTEGER NOT NULL,
  UNIQUE (name, dimensions)                         -- an endpoint may put another model behind the same name
) STRICT;

CREATE TABLE memory_vectors (
  seq INTEGER PRIMARY KEY REFERENCES memories (seq),
  scope_id INTEGER NOT NULL REFERENCES scopes (id),
  model_id INTEGER NOT NULL REFERENCES vector_models (id),
  content_hash BLOB NOT NULL,                       -- of the text that was embedded
  vector BLOB NOT NULL                              -- float16, little endian; empty where the model refused the text
) STRICT;
CREATE INDEX memory_vectors_by_scope ON memory_vectors (scope_id, model_id, seq);
CREATE INDEX memory_vectors_refused ON memory_vectors (model_id, seq) WHERE length(vector) = 0;

CREATE TABLE message_vectors (
  seq INTEGER PRIMARY KEY REFERENCES messages (seq),
  scope_id INTEGER NOT NULL REFERENCES scopes (id),
  model_id INTEGER NOT NULL REFERENCES vector_models (id),
  content_hash BLOB NOT NULL,
  vector BLOB NOT NULL
) STRICT;
CREATE INDEX message_vectors_by_scope ON message_vectors (scope_id, model_id, seq);
CREATE INDEX message_vectors_refused ON message_vectors (model_id, seq) WHERE length(vector) = 0;
