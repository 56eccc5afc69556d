-- Each event belongs to the environment of its resource, so that an API key of one environment is shown the events of that one, in
-- order and over an index. The column is beside the event: it follows from the log, and no hash is over it.

ALTER TABLE events ADD COLUMN environment text NOT NULL DEFAULT 'mainnet' CHECK (environment IN ('mainnet', 'testnet'));

-- The environment that an event names, else that of its wallet or collection, else that of the event that opened its stream. What
-- belongs to no environment, as an index of a seed that no wallet got, counts as mainnet. Volatile: it sees rows of its own statement.
CREATE FUNCTION environment_of_event(stream text, data jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  origin text;
BEGIN
  IF data->>'environment' IN ('mainnet', 'testnet') THEN
    RETURN data->>'environment';
  ELSIF data ? 'walletId' THEN
    origin := 'wallet-' || (data->>'walletId');
  ELSIF data ? 'collectionId' THEN
    origin := 'collection-' || (data->>'collectionId');
  ELSIF starts_with(stream, 'balance-') THEN
    origin := 'wallet-' || substr(stream, length('balance-') + 1);
  ELSIF starts_with(stream, 'ownership-') THEN
    origin := 'collection-' || substr(stream, length('ownership-') + 1);
  ELSIF starts_with(stream, 'mpckey-') THEN
    SELECT 'wallet-' || (e.data->>'walletId') INTO origin FROM events e
     WHERE e.stream_id = stream AND e.type = 'MpcKeyAssigned' ORDER BY e.stream_version LIMIT 1;
  ELSIF NOT starts_with(stream, 'keyindexes-') THEN
    origin := stream;
  END IF;
  RETURN coalesce((SELECT e.environment FROM events e WHERE e.stream_id = origin AND e.stream_version = 1), 'mainnet');
END $$;

CREATE FUNCTION set_event_environment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Most events by far are later ones of these streams, which stay where they were opened: one look-up, and nothing of the data is read.
  IF NEW.stream_version > 1 AND (starts_with(NEW.stream_id, 'transaction-') OR starts_with(NEW.stream_id, 'balance-')) THEN
    SELECT e.environment INTO NEW.environment FROM events e WHERE e.stream_id = NEW.stream_id AND e.stream_version = 1;
    NEW.environment := coalesce(NEW.environment, 'mainnet');
  ELSE
    NEW.environment := environment_of_event(NEW.stream_id, NEW.data);
  END IF;
  RETURN NEW;
END $$;

-- Events that are there already. Wallets and collections name their environment, so they come first; then what opens a stream and
-- names one of them; then the rest.
ALTER TABLE events DISABLE TRIGGER events_append_only;
GRANT UPDATE ON events TO CURRENT_USER;
DO $$
BEGIN
  UPDATE events SET environment = 'testnet' WHERE data->>'environment' = 'testnet';
  IF FOUND THEN
    UPDATE events SET environment = 'testnet'
     WHERE stream_version = 1 AND environment = 'mainnet' AND environment_of_event(stream_id, data) = 'testnet';
    UPDATE events SET environment = 'testnet'
     WHERE stream_version > 1 AND environment = 'mainnet' AND environment_of_event(stream_id, data) = 'testnet';
  END IF;
END $$;
REVOKE UPDATE ON events FROM CURRENT_USER;
ALTER TABLE events ENABLE TRIGGER events_append_only;

CREATE TRIGGER events_environment BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION set_event_environment();

DROP INDEX events_of_tenant;
CREATE INDEX events_of_tenant_in_environment ON events ((metadata->>'tenantId'), environment, transaction_id, position);
