/** What `audit verify` reports: each way to change a log, done by SQL as a superuser with the triggers off. */
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { chainHashOf } from '../../src/audit/chain/chain-check.ts'
import { readLogRow } from '../../src/audit/chain/log-rows.ts'
import { signCheckpoint } from '../../src/audit/note/checkpoint.ts'
import { type AuditStage, withAudit } from '../support/audit.ts'

const stage = await withAudit(t)
const { pool, verify, tamper, transfers, takeCheckpoint } = stage
const ids = await transfers(150)
await takeCheckpoint()
await transfers(50)
await takeCheckpoint()
await transfers(5)

type Row = { readonly position: string; readonly stream_id: string; readonly stream_version: number }

/** The n-th event of the log, from 0. */
async function eventAt(n: number): Promise<Row> {
  const { rows } = await pool.query<Row>(
    'SELECT position, stream_id, stream_version FROM events ORDER BY events.transaction_id, position OFFSET $1 LIMIT 1',
    [n],
  )
  return rows[0] as Row
}

/** Copies the log, lets `test` break it, and restores it. */
async function restoring(test: () => Promise<void>): Promise<void> {
  const tables = ['events', 'audit_tiles', 'audit_tree', 'audit_checkpoints']
  for (const table of tables) await pool.query(`CREATE TABLE kept_${table} AS SELECT * FROM ${table}`)
  const file = await readFile(stage.checkpointFile)
  try {
    await test()
  } finally {
    for (const table of tables) {
      const overriding = table === 'events' ? 'OVERRIDING SYSTEM VALUE' : ''
      await tamper(`DELETE FROM ${table}`, `INSERT INTO ${table} ${overriding} SELECT * FROM kept_${table}`)
      await pool.query(`DROP TABLE kept_${table}`)
    }
    await writeFile(stage.checkpointFile, file)
  }
}

/** Recomputes the chain of a stream from a version on, like a forger. */
async function rehash({ pool, tamper }: AuditStage, streamId: string, from: number): Promise<void> {
  let previous = from === 1 ? '' : ((await readLogRow(pool, streamId, from - 1))?.hash ?? '')
  for (let version = from; ; version += 1) {
    const row = await readLogRow(pool, streamId, version)
    if (row === undefined) return
    previous = chainHashOf(row, previous)
    await tamper(
      `UPDATE events SET hash = decode('${previous}', 'hex') WHERE stream_id = '${streamId}' AND stream_version = ${version}`,
    )
  }
}

t.test('an unchanged log is verified, and the command prints what it read', async (t) => {
  const { code, out, err } = await verify('--json')
  t.equal(code, 0, err)
  t.match(JSON.parse(out), { ok: true, events: 615, checkpoints: 2, finding: null })
  t.match((await verify()).out, /^The log is intact: 615 events, root .*, 2 checkpoints agree/)
})

t.test('threads with a share of the streams each find the same first bad event', async (t) => {
  const { code, out, err } = await verify('--json --threads 2')
  t.equal(code, 0, err)
  t.match(JSON.parse(out), { ok: true, events: 615 })
  const bad = [await eventAt(123), await eventAt(126), await eventAt(400)]
  await restoring(async () => {
    for (const { position } of bad) await tamper(`UPDATE events SET type = 'X' WHERE position = ${position}`)
    const found = await verify('--json --threads 2')
    t.equal(found.code, 1)
    t.match(JSON.parse(found.out).finding, { position: bad[0]?.position, stream_id: bad[0]?.stream_id })
  })
})

t.test('an event whose data were changed is named', async (t) => {
  const { stream_id, stream_version, position } = await eventAt(300)
  await restoring(async () => {
    await tamper(`UPDATE events SET data = data::jsonb || '{"code": "x"}' WHERE position = ${position}`)
    const { code, out } = await verify()
    t.equal(code, 1)
    t.equal(
      out,
      `The event at position ${position}, ${stream_id} version ${stream_version}, does not match its recorded hash: it was changed or forged.\n`,
    )
  })
  t.equal((await verify()).code, 0, 'the restored log is valid')
})

t.test('one flipped bit in each column is found, and nothing else is blamed', async (t) => {
  const { stream_id, stream_version, position } = await eventAt(301)
  const changes = {
    type: "type = 'TransactionFaileD'",
    schema_version: 'schema_version = schema_version + 1',
    data: `data = jsonb_set(data::jsonb, '{${Object.keys(((await pool.query('SELECT data FROM events WHERE position = $1', [position])).rows[0] as { data: object }).data)[0]}}', '1.0')`,
    metadata: `metadata = metadata::jsonb || '{"actor": "tesu"}'`,
    recorded_at: "recorded_at = recorded_at + interval '1 millisecond'",
    hash: 'hash = set_bit(hash, 77, 1 - get_bit(hash, 77))',
  }
  for (const [column, assignment] of Object.entries(changes)) {
    await restoring(async () => {
      await tamper(`UPDATE events SET ${assignment} WHERE position = ${position}`)
      const { code, out } = await verify('--json')
      t.equal(code, 1, column)
      t.match(JSON.parse(out).finding, { position, stream_id, stream_version }, column)
    })
  }
})

t.test('an event that was changed together with the hashes behind it is named by the tree', async (t) => {
  const { stream_id, stream_version, position } = await eventAt(100)
  await restoring(async () => {
    await tamper(`UPDATE events SET metadata = metadata::jsonb || '{"actor": "thief"}' WHERE position = ${position}`)
    await rehash(stage, stream_id, stream_version)
    const { code, out } = await verify('--json')
    t.equal(code, 1)
    t.match(JSON.parse(out).finding, { kind: 'changed', position, stream_id, stream_version })
  })
})

t.test('a rewritten history with its tree contradicts the signed checkpoint', async (t) => {
  const { stream_id, stream_version, position } = await eventAt(500)
  await restoring(async () => {
    await tamper(
      `UPDATE events SET metadata = metadata::jsonb || '{"actor": "thief"}' WHERE position = ${position}`,
      'DELETE FROM audit_tiles',
      "UPDATE audit_tree SET size = 0, transaction_id = '0', position = 0",
    )
    await rehash(stage, stream_id, stream_version)
    const { code, out } = await verify()
    t.equal(code, 1)
    t.match(
      out,
      /^The checkpoint over 600 events of row 2 of audit_checkpoints does not match the root .* between event 450 and event 600 was rewritten\.\n$/,
    )
    await tamper('DELETE FROM audit_checkpoints')
    t.match(
      (await verify()).out,
      /^The checkpoint over 600 events of note 2 of .* does not match the root/,
      'the note in the file reports the change too',
    )
    await t.rejects(takeCheckpoint(), { code: 'audit_contradiction' }, 'no checkpoint of a rewritten log is signed')
  })
})

t.test('an event that was removed leaves a gap, in its stream or in the tree', async (t) => {
  const inner = `transaction-${ids[40]}`
  await restoring(async () => {
    await tamper(`DELETE FROM events WHERE stream_id = '${inner}' AND stream_version = 2`)
    const { code, out } = await verify('--json')
    t.equal(code, 1)
    t.match(JSON.parse(out).finding, { stream_id: inner, stream_version: 3, message: /removed/ })
  })
  await restoring(async () => {
    await tamper(`DELETE FROM events WHERE stream_id = '${inner}' AND stream_version = 3`)
    const next = await eventAt(40 * 3 + 2)
    const { code, out } = await verify('--json')
    t.equal(code, 1)
    t.match(JSON.parse(out).finding, { kind: 'removed', position: next.position, stream_id: next.stream_id })
  })
})

t.test('an event that was inserted is named, though its hash is right', async (t) => {
  const stream = `transaction-${ids[10]}`
  await restoring(async () => {
    await tamper(
      `INSERT INTO events (position, transaction_id, stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash, environment)
       OVERRIDING SYSTEM VALUE SELECT 1000000, transaction_id, stream_id, 4, type, schema_version, data, metadata, recorded_at, hash, environment
         FROM events WHERE stream_id = '${stream}' AND stream_version = 3`,
    )
    await rehash(stage, stream, 4)
    const { code, out } = await verify('--json')
    t.equal(code, 1)
    t.match(JSON.parse(out).finding, { kind: 'inserted', position: '1000000', stream_id: stream, stream_version: 4 })
  })
})

t.test('events that changed places are found, within a stream and between streams', async (t) => {
  const swap = (a: Row, b: Row) =>
    tamper(
      `UPDATE events e SET transaction_id = o.transaction_id FROM events o WHERE e.position IN (${a.position}, ${b.position})
          AND o.position IN (${a.position}, ${b.position}) AND e.position <> o.position`,
    )
  await restoring(async () => {
    const [a, b] = [await eventAt(62), await eventAt(63)]
    t.not(a.stream_id, b.stream_id)
    await swap(a, b)
    const { code, out } = await verify('--json')
    t.equal(code, 1)
    t.match(JSON.parse(out).finding, { kind: 'reordered', stream_id: b.stream_id, position: b.position })
  })
  await restoring(async () => {
    const [a, b] = [await eventAt(60), await eventAt(61)]
    t.equal(a.stream_id, b.stream_id)
    await swap(a, b)
    const { code, out } = await verify('--json')
    t.equal(code, 1)
    t.match(JSON.parse(out).finding, { stream_id: a.stream_id, stream_version: 2 })
  })
})

t.test('a tail that was cut off is found by the tree, by the database and by the file', async (t) => {
  await restoring(async () => {
    await tamper(
      'DELETE FROM events WHERE position > (SELECT position FROM events ORDER BY position OFFSET 499 LIMIT 1)',
    )
    const { code, out } = await verify()
    t.equal(code, 1)
    t.equal(
      out,
      'The log has 500 events, but the checkpoint of row 2 of audit_checkpoints covers 600: the last 100 events are missing.\n',
    )
    await t.rejects(takeCheckpoint(), { code: 'audit_contradiction' }, 'the auditor reports the missing tail')
    await tamper(
      'DELETE FROM audit_tiles',
      "UPDATE audit_tree SET size = 0, transaction_id = '0', position = 0",
      'DELETE FROM audit_checkpoints',
    )
    t.match((await verify()).out, /^The log has 500 events, but the checkpoint of note 2 of .*checkpoints covers 600/)
    await t.rejects(takeCheckpoint(), { message: /^The log has 500 events, but 600 were signed/ })
    t.equal((await pool.query('SELECT FROM audit_checkpoints WHERE size > 600')).rowCount, 0)
  })
})

t.test('an unsigned checkpoint is refused, and a forked one is distinguished from a changed log', async (t) => {
  await restoring(async () => {
    const fork = signCheckpoint({ size: 450, root: Buffer.alloc(32, 7) }, stage.signer)
    await appendFile(stage.checkpointFile, `${fork.note}\n`)
    const { code, out } = await verify()
    t.equal(code, 1)
    t.match(out, /^The checkpoint over 450 events of note 3 of .* does not match the root of the log at that size/)
  })
  await restoring(async () => {
    await tamper("UPDATE audit_checkpoints SET note = replace(note, 'example.com/test\n600', 'example.com/test\n599')")
    const { code, err } = await verify()
    t.equal(code, 1)
    t.match(
      err,
      /^The checkpoint in row 2 of audit_checkpoints is not signed with the key example\.com\/test: it is damaged or forged.*\n$/,
    )
  })
})

t.test('a damaged tree is distinguished from a damaged log', async (t) => {
  await restoring(async () => {
    await tamper(
      'UPDATE audit_tiles SET hashes = set_byte(hashes, 40, 1 - get_byte(hashes, 40) % 2) WHERE level = 0 AND index = 1',
    )
    const { code, out } = await verify()
    t.equal(code, 1)
    t.match(
      out,
      /^The tree in the table audit_tiles is damaged at leaf 257; the log itself matches the checkpoints\.\n$/,
    )
  })
})

t.test('a verification changes nothing', async (t) => {
  // Each row with the transaction that wrote it.
  const contents = async () => {
    const { rows } = await pool.query(
      `SELECT relname, md5(query_to_xml(format('SELECT xmin AS written_by, t.* FROM %I AS t', relname), true, false, '')::text)
         FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname`,
    )
    return rows
  }
  const before = await contents()
  t.ok(before.length > 10)
  await verify()
  t.strictSame(await contents(), before)
})

t.test('wrong usage is reported in one line, with exit code 2', async (t) => {
  for (const [options, told] of [
    ['--threads 0', /^--threads must be a whole number from 1 to 16, not "0"\.\n$/],
    ['--checkpoints /nowhere', /^--checkpoints: the file \/nowhere does not exist\.\n$/],
    ['--key /nowhere', /^\/nowhere is missing: set --key to the public key of the auditor\.\n$/],
  ] as const) {
    const { code, err, out } = await verify(options)
    t.equal(code, 2, options)
    t.match(err, told)
    t.equal(out, '')
  }
})
