-- The Merkle tree over the log, as the auditor has read it so far, and the tree heads that it signed.

-- How far the tree has come: its leaves, and the place of the last one in the reading order of the log. One row.
CREATE TABLE audit_tree (
  only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  size           bigint  NOT NULL,
  transaction_id xid8    NOT NULL,
  position       bigint  NOT NULL
);
INSERT INTO audit_tree (size, transaction_id, position) VALUES (0, '0', 0);

-- Tiles of at most 256 hashes of 32 bytes: of level 0 the leaves, of level L the roots of full subtrees of 256^L leaves. A tile of
-- level 0 tells where its first leaf stands in the log, so that the leaf of an event is found without a pass over the log.
CREATE TABLE audit_tiles (
  level                integer  NOT NULL,
  index                bigint   NOT NULL,
  hashes               bytea    NOT NULL,
  first_transaction_id xid8,
  first_position       bigint,
  PRIMARY KEY (level, index)
);
CREATE INDEX audit_tiles_by_place ON audit_tiles (first_transaction_id, first_position) WHERE level = 0;
-- Hashes do not shrink: trying to would cost more than it saves.
ALTER TABLE audit_tiles ALTER COLUMN hashes SET STORAGE EXTERNAL;

-- Signed tree heads, one for each size.
CREATE TABLE audit_checkpoints (
  size     bigint PRIMARY KEY,
  root     bytea  NOT NULL,
  note     text   NOT NULL,
  taken_at timestamptz(3) NOT NULL
);

-- A tenant reads its own events in the order of the log.
CREATE INDEX events_of_tenant ON events ((metadata->>'tenantId'), transaction_id, position);
