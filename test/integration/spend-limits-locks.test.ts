/** Appends that reserve, give back and take again the same counters at once: none of them ever waits for another in a circle. */
import t, { type Test } from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { LimitReached } from '../../src/event-log/append.ts'
import { createGroupCommit } from '../../src/event-log/group-commit.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import type { TransactionCommand } from '../../src/transactions/decider.ts'
import { poolUntilEnd } from '../support/database-login.ts'
import { createRandom, type Random } from '../support/load-random.ts'
import { newTransactionId } from '../support/log.ts'
import { decided, METADATA, NOW } from '../support/raw-append.ts'
import { spending, spentOf, withSpending } from '../support/spending.ts'

const COUNTERS = ['a', 'b', 'c', 'd'].map((name) => `${name} 3600`)
const LIMIT = 40n
const FAIL: TransactionCommand = { type: 'FailUnsigned', code: 'expired', message: 'late', now: NOW }
const fees = { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }

function shuffled<Item>(random: Random, items: readonly Item[]): Item[] {
  const keyed = items.map((item) => ({ item, at: random.next() }))
  return keyed.sort((one, other) => one.at - other.at).map(({ item }) => item)
}

/** A connection that reports deadlocks at once, and how many there were: an append is repeated after one. */
function connect(t: Test, url: string) {
  const pool = poolUntilEnd(t, { connectionString: url, max: 1, options: '-c deadlock_timeout=10ms' })
  const found = { deadlocks: 0 }
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>
  Object.assign(pool, {
    query: (...args: unknown[]) =>
      query(...args).catch((error: { readonly code?: string }) => {
        if (error.code === '40P01') found.deadlocks += 1
        throw error
      }),
  })
  return { line: createGroupCommit(pool), found }
}

t.test('twelve connections that spend, fail and revoke on four counters in any order never deadlock', async (t) => {
  const seed = Date.now()
  t.comment(`seed ${seed}`)
  const { url, pool, log } = await withSpending(t)
  const connections = Array.from({ length: 12 }, () => connect(t, url))
  let nonce = 0
  let done = 0

  async function work({ line }: (typeof connections)[number], n: number) {
    const random = createRandom(seed + n)
    const held: string[] = []
    const request = (id: string) => {
      const counters = shuffled(random, COUNTERS).slice(0, random.between(1, COUNTERS.length))
      return decided(log, id, spending(...counters.map((counter) => ({ counter, amount: 3n, kept: 1n, limit: LIMIT }))))
    }
    const step = async (id: string, command: TransactionCommand) =>
      line.append({ decisions: [await decided(log, id, command)] })
    const revert = async (id: string) => {
      nonce += 1
      const [hash, block] = [`0x${nonce}`, { blockNumber: nonce, blockHash: `0xb${nonce}` }]
      const signed = { nonce, hash, rawTransaction: '0x02', fees, signedAt: NOW }
      await step(id, { type: 'RecordSignature', signed })
      const used = { gasUsed: 21_000n, effectiveGasPrice: 2n, logs: null }
      const inclusion = { hash, succeeded: false, ...block, blockTimestamp: NOW, minedAt: NOW, ...used }
      await step(id, { type: 'RecordInclusion', inclusion })
      await step(id, { type: 'Settle', confirmations: 2, revertReason: 'why', now: NOW })
      if (random.chance(0.5)) await step(id, { type: 'RecordReorg', head: block.blockNumber, now: NOW })
    }
    for (let round = 0; round < 30; round += 1) {
      const id = newTransactionId()
      // Half of them give back and spend in one append.
      const ended = random.chance(0.5) ? held.shift() : undefined
      const decisions = [await request(id), ...(ended === undefined ? [] : [await decided(log, ended, FAIL)])]
      const isAccepted = await line.append({ decisions: shuffled(random, decisions) }).then(
        () => true,
        (error) => {
          if (error instanceof LimitReached) return false
          throw error
        },
      )
      if (isAccepted) held.push(id)
      else if (ended !== undefined) held.unshift(ended)
      const next = held.length > 2 || !isAccepted ? held.shift() : undefined
      if (next === undefined) continue
      if (random.chance(0.25)) await revert(next)
      else await step(next, FAIL)
      done += 1
    }
  }

  await Promise.all(connections.map(work))
  t.equal(
    connections.reduce((sum, { found }) => sum + found.deadlocks, 0),
    0,
    'no deadlock',
  )
  t.ok(done > 60, `${done} ended`)
  t.strictSame((await compareLive(pool, LOG_CONTENTS, { tables: ['spend_buckets', 'wallet_holds'] })).differences, [])

  for (const counter of COUNTERS) {
    // A revoked outcome counts again, also above the limit.
    const before = BigInt(await spentOf(pool, counter))
    const tried = await Promise.allSettled(
      connections.flatMap(({ line }) =>
        Array.from({ length: 4 }, async () =>
          line.append({
            decisions: [
              await decided(log, newTransactionId(), spending({ counter, amount: 1n, limit: LIMIT }), METADATA),
            ],
          }),
        ),
      ),
    )
    const room = before > LIMIT ? 0n : LIMIT - before
    t.equal(tried.filter(({ status }) => status === 'fulfilled').length, Number(room), `${counter}: ${room} were left`)
    t.equal(await spentOf(pool, counter), `${before + room}`)
  }
})
