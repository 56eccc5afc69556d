-- Metadata of tokens and collections, by what it says; and which of it IPFS holds.

-- Content never changes: its key is its hash.
CREATE TABLE nft_metadata (
  cid     text PRIMARY KEY,
  content text NOT NULL
);
SELECT create_put_function('nft_metadata', first_stays => true);

-- `pinned_at` is what the IPFS node last confirmed, which is no event: it can be asked again. It outlives a mint that names the
-- same content once more, and a rebuilding of the read models.
CREATE TABLE nft_pins (
  cid       text PRIMARY KEY,
  pinned_at timestamptz(3),
  due_at    timestamptz(3) NOT NULL
);
CREATE INDEX nft_pins_due ON nft_pins (due_at);
CREATE INDEX nft_pins_pending ON nft_pins (cid) WHERE pinned_at IS NULL;
SELECT create_put_function('nft_pins', first_stays => true);
