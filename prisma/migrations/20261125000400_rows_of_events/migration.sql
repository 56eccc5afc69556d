-- Rows only with their events: what an append may write follows from the events that it appends.

-- Rules ----------------------------------------------------------------------------------------------------------------

-- What each event type may do, from the declarations: npm run migrate writes it.
CREATE TABLE event_rules (
  -- `<category of the stream>:<type of the event>`
  event     text PRIMARY KEY,
  -- By table, the columns that it may change in the rows of its stream; `*`: it may write a new row.
  columns   jsonb NOT NULL,
  -- Of transactions: the members that a row of theirs may have.
  members   text[] NOT NULL,
  -- Of transactions: the states that it can follow and the events of the same append; the state that it leads to.
  follows   text[] NOT NULL,
  leads_to  text,
  -- Instead, if its data says that it cancels.
  cancels_to text,
  -- The highest fee of the transaction after it: `reserved` or `signed` as its data says, `raised` if that is higher.
  fee       text,
  -- Whether what it holds more must fit into the balance: it opens a transaction, or it adds bytes that were not found on chain.
  must_fit  boolean NOT NULL
);

CREATE AGGREGATE all_of(text[]) (SFUNC = array_cat, STYPE = text[], INITCOND = '{}');

-- Makes refuse_rows_of_<table>(rows, …) for each rule {table, category, of, changes}, and refuse_rows, which calls them: `of` is the id of the
-- stream from columns of the row, `changes` the columns by event type. The tables of `chain` and `content` have rules of their own,
-- and those of `free` none. The statements inside are static, so their plans are kept.
--
-- A row is accepted if this append extends its stream. It has the version of the newest event of its stream. Of a row that is there
-- it changes only what the events may change, unless an older program or a restore left the row behind: then what later events
-- may change. A row that is missing may be written again.
CREATE FUNCTION create_row_checks(rules jsonb, chain text[], content text[], free text[]) RETURNS void LANGUAGE plpgsql AS $body$
DECLARE
  rule jsonb;
  calls text;
BEGIN
  FOR rule IN SELECT jsonb_array_elements(rules) LOOP PERFORM create_row_check(rule); END LOOP;
  SELECT string_agg(format('IF rows ? %1$L THEN nothing := %2$s; END IF;', t.name, t.check_of), E'\n       ')
    INTO calls
    FROM (SELECT r->>'table', format('refuse_rows_of_%1$s(rows->%1$L, stream_ids, stream_versions, types, all_metadata)', r->>'table')
            FROM jsonb_array_elements(rules) AS r
          UNION ALL SELECT name, format('refuse_chain_rows(rows->%L, guards)', name) FROM unnest(chain) AS name
          UNION ALL SELECT name, format('refuse_content(rows->%L)', name) FROM unnest(content) AS name) AS t(name, check_of);
  -- One expression for each table: it costs nothing but a look for its name where there are no rows of it.
  EXECUTE format(
    'CREATE OR REPLACE FUNCTION refuse_rows(guards jsonb, rows jsonb, stream_ids text[], stream_versions integer[], types text[], all_metadata json[])
     RETURNS void LANGUAGE plpgsql AS $refuse$
     DECLARE
       nothing text;
       others jsonb := rows - %L::text[];
     BEGIN
       IF others <> ''{}'' THEN PERFORM refuse_row(jsonb_object_keys(others), ''any''); END IF;
       %s
     END $refuse$',
    chain || content || free || array(SELECT r->>'table' FROM jsonb_array_elements(rules) AS r), calls);
END $body$;

CREATE FUNCTION refuse_row(table_name text, row_name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the row % of % does not follow from the events of this append', row_name, table_name
    USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE FUNCTION create_row_check(rule jsonb) RETURNS void LANGUAGE plpgsql AS $body$
DECLARE
  target CONSTANT regclass := rule->>'table';
  template CONSTANT text := quote_literal((rule->>'category') || '-' || (rule->>'of'));
  -- The stream of a row that is sent, and of one that is stored.
  stream CONSTANT text := regexp_replace(template, '\{(\w+)\}', ''' || (x->>''\1'') || ''', 'g');
  stored_stream CONSTANT text := regexp_replace(template, '\{(\w+)\}', ''' || r.\1::text || ''', 'g');
  named text[];
  same_key text;
  has_version boolean;
  has_tenant boolean;
  changed text;
  columns_of text;
  ever text;
BEGIN
  SELECT array_agg(a.attname::text),
         string_agg(format('r.%1$I = (x->>%2$L)::%3$s', a.attname, a.attname, format_type(a.atttypid, a.atttypmod)), ' AND ' ORDER BY k.n)
    INTO named, same_key
    FROM pg_index i, unnest(i.indkey) WITH ORDINALITY AS k(attnum, n), pg_attribute a
   WHERE i.indrelid = target AND i.indisprimary AND a.attrelid = target AND a.attnum = k.attnum;
  SELECT bool_or(a.attname = 'version'), bool_or(a.attname = 'tenant_id'),
         string_agg(format('CASE WHEN r.%1$I IS DISTINCT FROM n.%1$I THEN %1$L END', a.attname), ', ')
           FILTER (WHERE a.attname <> ALL (named))
    INTO has_version, has_tenant, changed
    FROM pg_attribute a WHERE a.attrelid = target AND a.attnum > 0 AND NOT a.attisdropped;
  SELECT string_agg(format('WHEN %L THEN %L::text[]', c.key, ARRAY['version', 'after_version'] || named || columns.names), ' ')
    INTO columns_of
    FROM jsonb_each(rule->'changes') AS c, LATERAL (SELECT array(SELECT jsonb_array_elements_text(c.value)) AS names) AS columns;
  SELECT quote_literal(array_agg(DISTINCT name)::text) INTO ever
    FROM jsonb_each(rule->'changes') AS c, jsonb_array_elements_text(c.value) AS name;
  EXECUTE format($make$
    CREATE OR REPLACE FUNCTION refuse_rows_of_%1$s(rows jsonb, stream_ids text[], stream_versions integer[], types text[], all_metadata json[])
    RETURNS void LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' SET enable_nestloop = 'off' AS $refuse$
    DECLARE
      foreign_row text;
    BEGIN
      SELECT coalesce(%2$s, 'without a key') INTO foreign_row
        FROM jsonb_array_elements(rows) AS x
        LEFT JOIN (SELECT e.stream_id, min(e.version) AS first, max(e.version) AS last, min(e.metadata->>'tenantId') AS tenant_id,
                          all_of(CASE e.type %3$s END) AS columns
                     FROM unnest(stream_ids, stream_versions, types, all_metadata) AS e(stream_id, version, type, metadata)
                    WHERE starts_with(e.stream_id, %13$L)
                    GROUP BY e.stream_id) AS s ON s.stream_id = %2$s
        -- LATERAL with OFFSET: one index look-up for each whole row of a stream that was there, and none for others.
        LEFT JOIN LATERAL (
          SELECT %4$s AS stream_id, %5$s AS version, array_remove(ARRAY[%6$s]::text[], NULL) || 'version'::text AS changed
            FROM %7$s r, jsonb_populate_record(NULL::%7$s, x) AS n
           WHERE %8$s AND NOT x ? 'after_version' %9$s OFFSET 0) AS stored ON true
       WHERE s.stream_id IS NULL OR s.columns = '{}' %10$s
          OR CASE WHEN x ? 'after_version' THEN (x->>'after_version')::integer <> s.first - 1 OR x - s.columns <> '{}'
                  WHEN stored.stream_id IS NULL THEN (s.first = 1 AND '*' <> ALL (s.columns)) %11$s
                  ELSE stored.stream_id <> s.stream_id
                    OR NOT stored.changed <@ (s.columns || CASE WHEN stored.version <> s.first - 1 THEN %12$s::text[] ELSE '{}' END)
             END
       LIMIT 1;
      IF FOUND THEN PERFORM refuse_row(%1$L, foreign_row); END IF;
    END $refuse$ $make$,
    target, stream, columns_of, stored_stream, CASE WHEN has_version THEN 'r.version' ELSE 'NULL::integer' END, changed, target, same_key,
    -- A new stream cannot have a row, if the key of the row has the whole id.
    CASE WHEN array(SELECT m[1] FROM regexp_matches(rule->>'of', '\{(\w+)\}', 'g') AS m) <@ named THEN 'AND s.first > 1' ELSE '' END,
    CASE WHEN has_version THEN 'OR (x->>''version'')::integer IS DISTINCT FROM s.last' ELSE '' END,
    CASE WHEN has_tenant THEN 'OR x->>''tenant_id'' <> s.tenant_id' ELSE '' END,
    ever, (rule->>'category') || '-');
END $body$;

-- Rows of a followed chain belong to the holder of its lease.
CREATE FUNCTION refuse_chain_rows(rows jsonb, guards jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM jsonb_array_elements(rows) AS x
    WHERE NOT EXISTS (SELECT FROM jsonb_array_elements(guards->'fences') AS f WHERE f->>'name' = 'follow-' || (x->>'chain_id'));
  IF FOUND THEN
    RAISE EXCEPTION 'rows of a chain need the lease of its follower' USING ERRCODE = 'insufficient_privilege';
  END IF;
END $$;

-- The CID of one raw block: version 1, raw, SHA-256, in base32 without padding. Letter by letter it takes three times as long.
CREATE FUNCTION cid_of(content text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
  -- Its 36 bytes, and four more: 40 bits are eight characters.
  bits CONSTANT bit(320) := ('x01551220' || encode(sha256(convert_to(content, 'UTF8')), 'hex') || '00000000')::bit(320);
  cid bytea := 'b';
  x bigint;
BEGIN
  FOR at IN 1..281 BY 40 LOOP
    x := substring(bits FROM at FOR 40)::bigint;
    -- Each five bits to a byte of their own, by halves.
    x := (x & x'fffff00000'::bigint) << 12 | (x & x'fffff'::bigint);
    x := (x & x'ffc00000ffc00'::bigint) << 6 | (x & x'3ff000003ff'::bigint);
    x := (x & x'3e003e003e003e0'::bigint) << 3 | (x & x'1f001f001f001f'::bigint);
    -- Each byte is a letter from `a` on, or from 26 on a digit from `2` on, which is 73 less.
    cid := cid || int8send(x + (x'6161616161616161'::bigint - ((x + x'606060606060606'::bigint & x'2020202020202020'::bigint) >> 5) * 73));
  END LOOP;
  RETURN convert_from(substring(cid FOR 59), 'UTF8');
END $$;

CREATE FUNCTION refuse_content(rows jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  content text;
  cid text;
BEGIN
  FOR n IN 0..jsonb_array_length(rows) - 1 LOOP
    -- Tokens of one collection often share their metadata.
    IF rows->n->>'content' IS DISTINCT FROM content THEN
      content := rows->n->>'content';
      cid := cid_of(content);
    END IF;
    IF rows->n->>'cid' IS DISTINCT FROM cid THEN PERFORM refuse_row('nft_metadata', rows->n->>'cid'); END IF;
  END LOOP;
END $$;

-- Transactions and their holds -----------------------------------------------------------------------------------------

CREATE FUNCTION native_asset(network text, chain_id text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT 'eip155:' || chain_id || '/slip44:' || CASE network WHEN 'ethereum' THEN '60' WHEN 'polygon' THEN '966' ELSE '714' END
$$;

-- As statusOf of state.ts.
CREATE FUNCTION status_of(state text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN state IN ('confirmed', 'cancelled') THEN state WHEN state IN ('reverted', 'failed') THEN 'failed' ELSE 'pending' END
$$;

-- What a transaction holds for gas besides its amount, before a version of its stream: `fee` is that of its dearest bytes, or what was
-- reserved. A cancellation leaves `freed` of the amount in the wallet, which pays for its gas.
CREATE FUNCTION held_fee(stream text, before integer, fee numeric, freed numeric) RETURNS numeric LANGUAGE plpgsql STABLE AS $$
DECLARE
  highest numeric;
BEGIN
  IF freed = 0 THEN RETURN fee; END IF;
  SELECT max((e.data->'fees'->>'gasLimit')::numeric * (e.data->'fees'->>'maxFeePerGas')::numeric
               - CASE WHEN e.data->>'purpose' = 'cancel' THEN freed ELSE 0 END)
    INTO highest
    FROM events e
   WHERE e.stream_id = stream AND e.stream_version < before AND e.type IN ('TransactionSigned', 'TransactionReplaced')
     AND e.stream_version > coalesce((SELECT max(l.stream_version) FROM events l
                                       WHERE l.stream_id = stream AND l.stream_version < before AND l.type = 'NonceConsumedExternally'), 0);
  RETURN CASE WHEN highest IS NULL THEN fee ELSE greatest(highest, 0) END;
END $$;

-- What older programs held for the gas of a cancellation although its amount pays for it.
UPDATE wallet_holds h SET held = h.held - x.excess
  FROM (SELECT t.wallet_id, t.asset_id,
               sum(t.fee_estimated - held_fee('transaction-' || t.transaction_id, t.version + 1, t.fee_estimated, t.amount)) AS excess
          FROM transactions t
         WHERE t.state IN ('signed', 'submitted', 'replaced', 'reorged', 'awaiting_funds') AND t.hashes->1 IS NOT NULL
           AND t.asset_id LIKE '%/slip44:%'
         GROUP BY t.wallet_id, t.asset_id) AS x
 WHERE h.wallet_id = x.wallet_id AND h.asset_id = x.asset_id AND x.excess <> 0;

-- Refuses a first signature of a transaction with a deadline, unless append_commits has compared that with its clock.
CREATE FUNCTION refuse_unguarded(guards jsonb, id text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF deadline_of(id) IS NOT NULL AND NOT coalesce(guards->'deadlines' @> jsonb_build_array(jsonb_build_object('transaction_id', id)), false) THEN
    RAISE EXCEPTION 'the signature of %, which has a deadline, needs its guard', id USING ERRCODE = 'insufficient_privilege';
  END IF;
END $$;

-- Refuses an append unless each event of a transaction may follow the state of its row, the row comes with it and has the state
-- that the event leads to and the fee of its data, a new row has the lane and the amount of its request, and the holds are those that
-- follow: what a transaction that is in no block can cost. What is accepted or signed must fit into the balance, and what is signed must
-- be guarded by its deadline, unless the bytes were found on chain. A row tells no other status than that of its state. No amount of a
-- chain has more than 256 bits, and what is held of an account would never be a number again if one were none. A row that is missing or
-- behind is written again, whatever it says.
-- It is on the hot path: a loop of simple expressions takes a fraction of what a statement takes.
CREATE FUNCTION refuse_transactions(
  guards jsonb, rows jsonb, stream_ids text[], stream_versions integer[], types text[], all_data json[], all_metadata json[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  unmined CONSTANT text[] := '{requested,signed,submitted,replaced,reorged,awaiting_funds}';
  events_sent CONSTANT integer := coalesce(cardinality(stream_ids), 0);
  nothing text;
  covered integer := 0;
  x jsonb;
  opening jsonb;
  request jsonb;
  stream text;
  at integer := 1;
  first integer;
  is_new boolean;
  is_unknown boolean;
  stored record;
  state_was text;
  wallet text;
  native text;
  asset text;
  amount numeric;
  rule event_rules;
  rule_type text := '';
  allowed text[];
  state text;
  cause text;
  fee numeric;
  offer jsonb;
  offered numeric;
  was boolean;
  fee_was numeric;
  -- Of the fee what is held: held_fee.
  kept numeric;
  kept_was numeric;
  fits boolean;
  will boolean;
  account text;
  held numeric;
  outflows jsonb;
  outflow jsonb;
  holds jsonb;
  -- The accounts on which something is held or released, and what is to be: `given` takes it away again.
  accounts text[] := '{}';
  amounts numeric[] := '{}';
  unknown_wallets text[] := '{}';
BEGIN
  -- One statement for all rows: one for each takes longer than all else here.
  FOR stored IN
    SELECT item, t.*
      FROM jsonb_array_elements(rows) AS item
      LEFT JOIN LATERAL (
        SELECT t.state, t.fee_estimated, t.wallet_id, t.network, t.chain_id, t.asset_id, t.amount, t.version, t.type, t.valid_until,
               CASE WHEN t.hashes->0 IS NOT NULL AND t.asset_id LIKE '%/slip44:%' THEN t.amount ELSE 0 END AS freed,
               t.hashes->1 IS NOT NULL AND t.asset_id LIKE '%/slip44:%' AS has_several
          FROM transactions t WHERE t.transaction_id = item->>'transaction_id' OFFSET 0) AS t ON true
  LOOP
    x := stored.item;
    -- Mostly in the order of their streams: a search takes longer, the more events there are.
    stream := 'transaction-' || (x->>'transaction_id');
    IF stream_ids[at] IS DISTINCT FROM stream THEN at := array_position(stream_ids, stream); END IF;
    IF at IS NULL THEN PERFORM refuse_row('transactions', x->>'transaction_id'); END IF;
    first := at;
    cause := NULL;
    allowed := NULL;
    fits := false;
    is_new := stream_versions[first] = 1;
    IF is_new THEN
      opening := all_data[first];
      is_unknown := false;
      state := NULL;
      fee_was := 0;
      kept_was := 0;
    ELSE
      is_unknown := stored.version IS DISTINCT FROM stream_versions[first] - 1;
      state := stored.state;
      fee_was := stored.fee_estimated;
      kept_was := fee_was;
      IF stored.has_several THEN kept_was := held_fee(stream, stream_versions[first], fee_was, stored.amount); END IF;
    END IF;
    state_was := state;
    fee := fee_was;
    kept := kept_was;
    LOOP
      IF types[at] <> rule_type THEN
        SELECT * INTO rule FROM event_rules r WHERE r.event = 'transaction:' || types[at];
        rule_type := types[at];
      END IF;
      allowed := CASE WHEN allowed IS NULL THEN rule.members ELSE allowed || rule.members END;
      IF stream_versions[at] > 1 AND NOT is_unknown AND coalesce(cause, state) <> ALL (rule.follows) THEN
        PERFORM refuse_row('transactions', x->>'transaction_id');
      END IF;
      -- The API ends what was never signed. What a block ends, only the follower of its chain, which counts the confirmations.
      IF types[at] = 'TransactionCancelled' AND coalesce(cause, state) = 'cancelling' THEN
        nothing := refuse_chain_rows(jsonb_build_array(jsonb_build_object('chain_id', stored.chain_id)), guards);
      END IF;
      IF rule.fee IS NOT NULL THEN
        IF rule.fee <> 'reserved' THEN
          request := all_data[at];
          offer := request->'fees';
          IF NOT request ?| '{recovered,claimed}' THEN
            fits := fits OR rule.must_fit;
            IF rule.fee = 'signed' AND NOT is_new AND (stored.valid_until IS NOT NULL OR stored.version IS NULL) THEN
              nothing := refuse_unguarded(guards, x->>'transaction_id');
            END IF;
          END IF;
        ELSE
          IF NOT is_new THEN SELECT o.data INTO opening FROM events o WHERE o.stream_id = stream AND o.stream_version = 1; END IF;
          offer := opening->'reserved';
          fits := fits OR rule.must_fit;
        END IF;
        offered := (offer->>'gasLimit')::numeric * (offer->>'maxFeePerGas')::numeric;
        IF rule.fee <> 'raised' THEN
          fee := offered;
          kept := offered;
        ELSE
          fee := greatest(fee, offered);
          kept := greatest(kept, offered - CASE WHEN NOT is_new AND request->>'purpose' = 'cancel' THEN stored.freed ELSE 0 END);
          -- By their number the next append sees that there are several bytes.
          IF x->'hashes'->1 IS NULL THEN PERFORM refuse_row('transactions', x->>'transaction_id'); END IF;
        END IF;
      END IF;
      IF rule.leads_to IS NOT NULL THEN
        state := CASE WHEN rule.cancels_to IS NULL OR all_data[at]->>'cancels' IS DISTINCT FROM 'true' THEN rule.leads_to
                      ELSE rule.cancels_to END;
        cause := rule_type;
      END IF;
      at := at + 1;
      EXIT WHEN at > events_sent OR stream_ids[at] <> stream_ids[first];
    END LOOP;
    covered := covered + at - first;
    IF is_unknown THEN
      unknown_wallets := unknown_wallets || coalesce(stored.wallet_id, x->>'wallet_id');
      PERFORM refuse_rows_of_transactions(jsonb_build_array(x), stream_ids, stream_versions, types, all_metadata);
      CONTINUE;
    END IF;
    IF is_new THEN
      amount := (opening->>'amount')::numeric;
      -- One comparison after the other: each is a lookup in the row and one in the request.
      IF (x ? 'after_version' OR '*' <> ALL (allowed)
          OR x->'wallet_id' IS DISTINCT FROM opening->'walletId' OR x->'chain_id' IS DISTINCT FROM opening->'chainId'
          OR x->'from_address' IS DISTINCT FROM opening->'from' OR x->'to_address' IS DISTINCT FROM opening->'to'
          OR x->'amount' IS DISTINCT FROM opening->'amount' OR x->'network' IS DISTINCT FROM opening->'network'
          OR x->'asset_id' IS DISTINCT FROM opening->'asset'->'assetId' OR x->'tenant_id' IS DISTINCT FROM (all_metadata[first]->'tenantId')::jsonb
          OR x->>'nonce' IS NOT NULL OR x->>'hash' IS NOT NULL OR x->>'block_number' IS NOT NULL
          OR x->>'succeeded' IS NOT NULL OR (amount BETWEEN 0 AND 1e78) IS NOT TRUE) THEN
        PERFORM refuse_row('transactions', x->>'transaction_id');
      END IF;
    ELSIF NOT x ? 'after_version' THEN
      PERFORM refuse_rows_of_transactions(jsonb_build_array(x), stream_ids, stream_versions, types, all_metadata);
    ELSIF (x->>'after_version')::integer <> stream_versions[first] - 1 OR x - allowed <> '{}' THEN
      PERFORM refuse_row('transactions', x->>'transaction_id');
    END IF;
    IF ((x->>'version')::integer IS DISTINCT FROM stream_versions[at - 1] OR coalesce(x->>'state', state_was) IS DISTINCT FROM state
        OR ((is_new OR x ? 'status') AND x->>'status' IS DISTINCT FROM status_of(state)) OR NOT fee BETWEEN 0 AND 1e78
        OR coalesce((x->>'fee_estimated')::numeric, fee_was) IS DISTINCT FROM fee) THEN
      PERFORM refuse_row('transactions', x->>'transaction_id');
    END IF;

    was := coalesce(state_was = ANY (unmined), false);
    will := coalesce(state = ANY (unmined), false);
    CONTINUE WHEN was = will AND (kept = kept_was OR NOT was);
    IF is_new THEN
      wallet := opening->>'walletId';
      native := native_asset(opening->>'network', opening->>'chainId');
      asset := opening->'asset'->>'assetId';
    ELSE
      wallet := stored.wallet_id;
      native := native_asset(stored.network, stored.chain_id::text);
      asset := stored.asset_id;
      amount := stored.amount;
    END IF;
    held := CASE WHEN will THEN kept ELSE 0 END - CASE WHEN was THEN kept_was ELSE 0 END;
    wallet := wallet || CASE WHEN fits AND (is_new OR held > 0) THEN ' fits ' ELSE ' ' END;
    account := wallet || native;
    IF was <> will THEN
      IF was THEN amount := -amount; END IF;
      IF asset = native THEN
        held := held + amount;
      ELSE
        accounts := accounts || account;
        amounts := amounts || held;
        account := wallet || asset;
        held := amount;
      END IF;
      -- What a call takes besides its amount is in its request alone.
      outflows := NULL;
      IF is_new THEN
        outflows := opening->'outflows';
      ELSIF stored.type NOT IN ('TRANSFER', 'NONCE_FILL') THEN
        SELECT o.data->'outflows' INTO outflows FROM events o WHERE o.stream_id = stream AND o.stream_version = 1;
      END IF;
      IF outflows IS NOT NULL THEN
        FOR m IN 0..jsonb_array_length(outflows) - 1 LOOP
          outflow := outflows->m;
          IF ((outflow->>'amount')::numeric BETWEEN 0 AND 1e78) IS NOT TRUE THEN PERFORM refuse_row('transactions', x->>'transaction_id'); END IF;
          accounts := accounts || (wallet || (outflow->'asset'->>'assetId'));
          amounts := amounts || (CASE WHEN was THEN -1 ELSE 1 END * (outflow->>'amount')::numeric);
        END LOOP;
      END IF;
    END IF;
    accounts := accounts || account;
    amounts := amounts || held;
  END LOOP;

  IF covered < events_sent THEN
    PERFORM FROM unnest(stream_ids) AS s WHERE starts_with(s, 'transaction-') HAVING count(*) > covered;
    IF FOUND THEN
      RAISE EXCEPTION 'an event of a transaction needs its row' USING ERRCODE = 'insufficient_privilege';
    END IF;
  END IF;
  -- Mostly they come in this order, one for each account of a transaction.
  IF guards->'releases' @> '[{"must_fit": true}]' THEN PERFORM refuse_holds(guards, accounts, amounts, unknown_wallets, stream_ids); END IF;
  at := 1;
  holds := CASE WHEN NOT guards ? 'releases' THEN coalesce(guards->'holds', '[]')
                ELSE coalesce(guards->'holds', '[]') || (guards->'releases') END;
  FOR n IN 0..jsonb_array_length(holds) - 1 LOOP
    x := holds->n;
    WHILE amounts[at] = 0 LOOP at := at + 1; END LOOP;
    IF ((x->>'delta')::numeric <> 0 AND amounts[at] = (x->>'delta')::numeric AND strpos(x->>'wallet_id', ' ') = 0
        AND accounts[at] = (x->>'wallet_id') || CASE WHEN (x->>'must_fit')::boolean THEN ' fits ' ELSE ' ' END || (x->>'asset_id')) THEN
      at := at + 1;
    ELSE
      PERFORM refuse_holds(guards, accounts, amounts, unknown_wallets, stream_ids);
      RETURN;
    END IF;
  END LOOP;
  WHILE amounts[at] = 0 LOOP at := at + 1; END LOOP;
  IF at <= cardinality(accounts) THEN PERFORM refuse_holds(guards, accounts, amounts, unknown_wallets, stream_ids); END IF;
END $$;

-- Refuses holds that are not, for each account, what is expected: `accounts` are `<wallet> <asset>`, and `<wallet> fits <asset>` where the
-- hold must fit into the balance.
CREATE FUNCTION refuse_holds(guards jsonb, accounts text[], amounts numeric[], unknown_wallets text[], stream_ids text[])
RETURNS void LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
  refused text;
BEGIN
  SELECT h.account INTO refused
    FROM (SELECT e.account, e.amount, split_part(e.account, ' ', 1) AS wallet_id, true AS is_expected FROM unnest(accounts, amounts) AS e(account, amount)
          UNION ALL
          SELECT g.wallet_id || CASE WHEN g.must_fit THEN ' fits ' ELSE ' ' END || g.asset_id, -g.delta, g.wallet_id, false
            FROM jsonb_to_recordset(guards->'holds') AS g(wallet_id text, asset_id text, delta numeric, must_fit boolean)
          UNION ALL
          SELECT g.wallet_id || ' ' || g.asset_id, -g.delta, g.wallet_id, false
            FROM jsonb_to_recordset(guards->'releases') AS g(wallet_id text, asset_id text, delta numeric)) AS h
   GROUP BY h.account, h.wallet_id
  -- A hold of nothing locks the account: to archive its wallet.
  HAVING (sum(h.amount) IS DISTINCT FROM 0 AND h.wallet_id <> ALL (unknown_wallets))
      -- Or the account would read as another one.
      OR strpos(h.wallet_id, ' ') > 0
      OR (NOT bool_or(h.is_expected) AND 'wallet-' || h.wallet_id <> ALL (stream_ids) AND h.wallet_id <> ALL (unknown_wallets))
   LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'the hold on % does not follow from the events of this append', refused USING ERRCODE = 'insufficient_privilege';
  END IF;
END $$;

-- The append -----------------------------------------------------------------------------------------------------------

CREATE FUNCTION refuse_leases(guards jsonb, allowed text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  name text;
BEGIN
  FOR n IN 0..jsonb_array_length(guards->'fences') - 1 LOOP
    name := guards->'fences'->n->>'name';
    IF (name LIKE ANY (allowed)) IS NOT TRUE THEN
      RAISE EXCEPTION 'the database user % may not use the lease %', session_user, name USING ERRCODE = 'insufficient_privilege';
    END IF;
  END LOOP;
END $$;

-- Refuses what does not follow from the events of this append: rows, holds and keys of requests. It is called
-- once the events are written, so that nobody else extends their streams: the rows are those of the versions before.
CREATE FUNCTION refuse_foreign_rows(
  guards jsonb, rows jsonb, stream_ids text[], stream_versions integer[], types text[], all_data json[], all_metadata json[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  nothing text;
  item jsonb;
  sender jsonb;
  asked jsonb;
  at integer;
BEGIN
  -- An older snapshot would show older rows.
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'append_commits needs the isolation level read committed' USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF 'MpcSharesRefreshRequested' = ANY (types) THEN PERFORM refuse_refresh(stream_ids, types, all_data::jsonb[]); END IF;
  nothing := refuse_transactions(guards, rows->'transactions', stream_ids, stream_versions, types, all_data, all_metadata);
  rows := rows - 'transactions';
  IF rows <> '{}' THEN PERFORM refuse_rows(guards, rows, stream_ids, stream_versions, types, all_metadata); END IF;
  -- The event that opened the resource names the request too: the table of keys is rebuilt from there.
  IF guards ? 'idempotency' THEN
    FOR n IN 0..jsonb_array_length(guards->'idempotency') - 1 LOOP
      item := guards->'idempotency'->n;
      at := array_position(stream_ids, 'transaction-' || (item->>'resource_id'));
      sender := all_metadata[at];
      asked := sender->'idempotency';
      CONTINUE WHEN asked->'key' = item->'key' AND asked->'fingerprint' = item->'fingerprint' AND NOT asked ? 'resourceId'
                AND sender->'tenantId' = item->'tenant_id';
      PERFORM FROM unnest(stream_ids, stream_versions, all_data::jsonb[], all_metadata::jsonb[]) AS e(stream_id, version, data, metadata)
        WHERE e.metadata->'idempotency'->'key' = item->'key' AND e.metadata->'tenantId' = item->'tenant_id'
          AND e.metadata->'idempotency'->'fingerprint' = item->'fingerprint'
          AND CASE WHEN e.metadata->'idempotency' ? 'resourceId' THEN e.metadata->'idempotency'->'resourceId' = item->'resource_id'
                   ELSE split_part(e.stream_id, '-', 1) || '-' || (item->>'resource_id') IN (e.stream_id, e.stream_id || ':' || e.version)
                     OR EXISTS (SELECT FROM jsonb_each(e.data) AS named WHERE named.value = item->'resource_id') END;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'a key of a request does not follow from the events of this append' USING ERRCODE = 'insufficient_privilege';
      END IF;
    END LOOP;
  END IF;
END $$;
