/** What was found on chain is counted for each tenant, whatever fails for another one. */
import type { Pool } from 'pg'
import t from 'tap'
import type { Commit } from '../../src/event-log/append.ts'
import { createCommit } from '../../src/event-log/commit.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { createCountFound } from '../../src/policies/count-found.ts'
import type { FindOutside } from '../../src/policies/past.ts'
import { ETH } from '../support/policies.ts'

const NOW = '2026-12-02T10:05:30.000Z'

const sentBy = (tenantId: string, n: number): Awaited<ReturnType<FindOutside>>[number] => ({
  transferId: `${tenantId}_${String(n).padStart(4, '0')}`,
  observedAt: NOW,
  isConfirmed: true,
  sent: {
    ...{ tenantId, environment: 'mainnet', walletId: 'wal_1', network: 'ethereum', chainId: 1, hash: '0x1' },
    ...{ recipient: null, asset: ETH, amount: '1', usd: null, sentAt: NOW },
  },
})

t.test(
  'a tenant whose log cannot be read keeps nothing of others from being counted, on later pages either',
  async (t) => {
    const all = [...Array.from({ length: 600 }, (_, n) => sentBy('acme', n)), sentBy('globex', 0)]
    const recorded: string[] = []
    const log = {
      now: () => NOW,
      heads: async (ids: readonly string[]) =>
        ids.map((id) => ({ id, version: recorded.includes(id) ? 1 : 0, hash: '' })),
      commit: createCommit(async ({ decisions }: Commit) => {
        const [event] = decisions[0]?.events ?? []
        if (event === undefined || event.streamId.includes('acme')) throw new Error('this log cannot be read')
        recorded.push(event.streamId)
      }),
    } as unknown as EventLog
    const findOutside: FindOutside = async ({ observedAt, transferId }, most) =>
      all.filter((one) => one.observedAt > observedAt || one.transferId > transferId).slice(0, most)
    const pool = { query: async () => ({ rows: [] }) } as unknown as Pool
    const source = { kinds: {}, standing: {}, passing: {}, schemas: new Map(), spendersOf: () => [] }
    const count = createCountFound({ pool, source, chains: [], log, findOutside })
    await t.rejects(count(new AbortController().signal), /cannot be read/)
    t.strictSame(recorded, ['foundspend-globex_0000'])
    await t.rejects(count(new AbortController().signal), /cannot be read/, 'it is tried again')
  },
)
