/** Pinning on a real PostgreSQL, against a server with Kubo's protocol that hashes with IPFS' own importer. */
import t, { type Test } from 'tap'
import type { Time } from '../../src/core/registry.ts'
import { contentOf, contentRows } from '../../src/nft/metadata/content.ts'
import { pinOn } from '../../src/nft/metadata/pin.ts'
import { pinMetadata } from '../../src/nft/metadata/pin-metadata.ts'
import { countPendingPins } from '../../src/nft/metadata/pin-rows.ts'
import { repin } from '../../src/nft/metadata/repin.ts'
import { type KuboFault, startKubo, type TestKubo } from '../support/kubo.ts'
import { withLog } from '../support/log.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const token = (n: number) => contentOf({ name: `Lighthouse #${n} 🗼` })
const tokens = (count: number) => Array.from({ length: count }, (_, n) => token(n))

async function withPins(t: Test, settings: Parameters<typeof startKubo>[1] = {}, authorization: string | null = null) {
  const kubo = await startKubo(t, settings)
  const { pool, log } = await withLog(t)
  const outcomes: string[] = []
  let now = Date.parse('2026-01-01T00:00:00.000Z')
  const clock = () => now
  const pin = pinOn({
    config: { ipfs: { url: kubo.url, authorization } },
    metrics: { time: (_name, labels) => outcomes.push(...Object.values(labels)) },
  })
  if (pin === null) throw new Error('there is a node')
  const ctx = { pool, pin, clock }
  const mint = async (contents: ReturnType<typeof tokens>) => {
    const rows = contents.flatMap((content) => contentRows(content, new Date(now).toISOString()))
    await log.append({ decisions: [], rows })
  }
  const pinRow = async (cid: string) => {
    const { rows } = await pool.query('SELECT pinned_at, due_at FROM nft_pins WHERE cid = $1', [cid])
    return rows[0] as { pinned_at: Date | null; due_at: Date } | undefined
  }
  return {
    kubo,
    pool,
    outcomes,
    mint,
    pinRow,
    pass: (ms: number) => {
      now += ms
    },
    pinMetadata: (contents: Parameters<typeof pinMetadata>[1]) => pinMetadata(ctx, contents),
    /** Gives up soon, for nodes that never complete a response. */
    pinMetadataSoon: (contents: Parameters<typeof pinMetadata>[1]) => pinMetadata(ctx, contents, 1_000),
    repin: () => repin(ctx, new AbortController().signal),
  }
}

function textsOn({ pinned }: TestKubo): Record<string, string> {
  return Object.fromEntries([...pinned].map(([cid, content]) => [cid, content.toString('utf8')]))
}

t.test('metadata is on IPFS under its CID, byte for byte, before the mint goes on', async (t: Test) => {
  const { kubo, pinMetadata, pinRow, outcomes } = await withPins(t)
  const largest = contentOf({ name: 'n'.repeat(262_144 - contentOf({ name: '' }).text.length) })
  await pinMetadata([token(1), largest])
  t.strictSame(textsOn(kubo), { [token(1).cid]: token(1).text, [largest.cid]: largest.text })
  t.strictSame(outcomes, ['pinned', 'pinned'])
  t.same(await pinRow(token(1).cid), {
    pinned_at: new Date('2026-01-01T00:00:00.000Z'),
    due_at: new Date('2026-01-08T00:00:00.000Z'),
  })
})

t.test('a batch is pinned a few at a time, equal metadata once, and not again within the hour', async (t: Test) => {
  const { kubo, pinMetadata, pass } = await withPins(t, { answerAfterMs: 50 })
  await pinMetadata([...tokens(20), ...tokens(20)])
  t.equal(kubo.requests(), 20)
  t.ok(kubo.mostAtOnce() <= 8, `at most 8 requests run at once: ${kubo.mostAtOnce()}`)
  t.ok(kubo.mostAtOnce() > 1, `several requests run at once: ${kubo.mostAtOnce()}`)
  await pinMetadata([token(3), token(20)])
  t.equal(kubo.requests(), 21)
  pass(HOUR)
  await pinMetadata([token(3)])
  t.equal(kubo.requests(), 22)
})

t.test('whatever the node does instead of pinning, the mint is refused and nothing is recorded', async (t: Test) => {
  const { kubo, pinMetadata, pinMetadataSoon, pinRow, outcomes } = await withPins(t)
  const faults: KuboFault[] = [
    'hangs',
    'breaks off',
    'errors',
    'bad gateway',
    'redirects',
    'says nothing',
    'talks without end',
  ]
  for (const fault of faults) {
    kubo.fail(fault)
    const pinning = fault === 'hangs' ? pinMetadataSoon : pinMetadata
    await t.rejects(pinning([token(1)]), { type: 'unavailable', code: 'ipfs_unavailable', retryable: true }, fault)
    t.equal(outcomes.pop(), 'failed')
  }
  kubo.fail('ignores options')
  await t.rejects(pinMetadata([token(1)]), {
    type: 'unavailable',
    code: 'ipfs_cid_mismatch',
    cause: { message: new RegExp(`^the node returned Qm\\w{44}, but the CID of the content is ${token(1).cid}$`) },
  })
  t.equal(await pinRow(token(1).cid), undefined)
  kubo.fail(null)
  await pinMetadata([token(1)])
  t.ok(await pinRow(token(1).cid))
  await kubo.stop()
  await t.rejects(pinMetadata([token(2)]), { code: 'ipfs_unavailable' })
})

t.test('one piece that fails refuses its batch, and the others are not waited for', async (t: Test) => {
  const { kubo, pinMetadata, pinRow } = await withPins(t, { answerAfterMs: 20 })
  kubo.fail('errors', '#2 ')
  await t.rejects(pinMetadata(tokens(100)), {
    code: 'ipfs_unavailable',
    cause: { message: /^HTTP 500: .*disk quota exceeded/ },
  })
  t.ok(kubo.requests() < 30, `the failure stops the batch: ${kubo.requests()} requests`)
  for (const { cid } of tokens(3)) t.equal(await pinRow(cid), undefined)
})

t.test(
  'a node behind a proxy gets the header that was configured, and without it the mint is refused',
  async (t: Test) => {
    const authorization = 'Bearer open-sesame'
    const admitted = await withPins(t, { authorization }, authorization)
    await admitted.pinMetadata([token(1)])
    t.equal(admitted.kubo.pinned.size, 1)
    const shut = await withPins(t, { authorization }, 'Bearer wrong')
    const problem = await shut.pinMetadata([token(1)]).catch((error: Error) => error)
    t.match(problem, { code: 'ipfs_unavailable', cause: { message: /^HTTP 403: Kubo RPC Access Denied/ } })
    t.notMatch(JSON.stringify([(problem as Error).message, String((problem as Error).cause)]), /wrong|sesame/)
  },
)

t.test('without an IPFS node nothing is pinned, and everything is once there is one', async (t: Test) => {
  const { kubo, pool, mint, repin, pinRow } = await withPins(t)
  await pinMetadata({ pool, pin: null, clock: Date.now }, tokens(150))
  await mint(tokens(150))
  t.equal(await countPendingPins(pool), 150)
  t.equal(await repin(), 150)
  t.equal(await countPendingPins(pool), 0)
  t.strictSame(textsOn(kubo), Object.fromEntries(tokens(150).map(({ cid, text }) => [cid, text])))
  t.ok(kubo.mostAtOnce() <= 4, `at most 4 requests run at once: ${kubo.mostAtOnce()}`)
  t.same((await pinRow(token(1).cid))?.due_at, new Date('2026-01-08T00:00:00.000Z'))
  t.equal(await repin(), 0)
  t.equal(kubo.requests(), 150)
})

t.test('a pin that was confirmed long ago is confirmed again, which restores what the node lost', async (t: Test) => {
  const { kubo, mint, repin, pass, pinMetadata, pinRow } = await withPins(t)
  await pinMetadata([token(1)])
  await mint([token(1)])
  kubo.pinned.clear()
  pass(7 * 24 * HOUR - 1)
  t.equal(await repin(), 0)
  pass(1)
  t.equal(await repin(), 1)
  t.strictSame(textsOn(kubo), { [token(1).cid]: token(1).text })
  t.same((await pinRow(token(1).cid))?.pinned_at, new Date('2026-01-08T00:00:00.000Z'))
})

t.test('a node that is down gets few requests, and refused content is tried after the rest', async (t: Test) => {
  const { kubo, pool, mint, repin, pass } = await withPins(t)
  await mint(tokens(20))
  kubo.fail('errors')
  await t.rejects(repin(), { code: 'ipfs_unavailable' })
  t.ok(kubo.requests() <= 4, `at most 4 requests are sent: ${kubo.requests()}`)
  pass(5 * MINUTE)
  kubo.fail('errors', '#7 ')
  await t.rejects(repin(), { code: 'ipfs_unavailable' })
  await repin()
  t.equal(await countPendingPins(pool), 1, 'the other pins are left for the next round')
  kubo.fail(null)
  t.equal(await repin(), 0, 'refused content is not retried yet')
  pass(5 * MINUTE)
  t.equal(await repin(), 1)
  t.equal(await countPendingPins(pool), 0)
})

t.test('a stop ends the work between two pieces without a failure', async (t: Test) => {
  const { kubo, pool, mint, outcomes } = await withPins(t, { answerAfterMs: 20 })
  await mint(tokens(40))
  const stop = new AbortController()
  const time: Time = (_name, labels) => {
    outcomes.push(...Object.values(labels))
    if (outcomes.length === 8) stop.abort()
  }
  const pin = pinOn({ config: { ipfs: { url: kubo.url, authorization: null } }, metrics: { time } })
  if (pin === null) throw new Error('there is a node')
  await repin({ pool, pin, clock: Date.now }, stop.signal)
  t.ok(kubo.requests() < 20, `the stop ends the work early: ${kubo.requests()} requests`)
  const { rows } = await pool.query('SELECT count(*)::int AS n FROM nft_pins WHERE pinned_at IS NOT NULL')
  t.ok(rows[0].n >= 8, 'every confirmed pin is recorded')
})

t.test(
  'content pinned for a mint that was never requested is dropped once its confirmation is old',
  async (t: Test) => {
    const { pinMetadata, repin, pinRow, pass, mint } = await withPins(t)
    await pinMetadata([token(1), token(2)])
    await mint([token(2)])
    pass(6 * 24 * HOUR)
    await repin()
    t.ok(await pinRow(token(1).cid))
    pass(24 * HOUR)
    await repin()
    t.equal(await pinRow(token(1).cid), undefined)
    t.ok(await pinRow(token(2).cid))
  },
)
