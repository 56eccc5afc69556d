/** `reconcile` works beside signers: what they record at the same time is decided by the versions of streams. */
import t from 'tap'
import { FenceLost, StreamConflict, UniqueRuleBroken } from '../../src/event-log/append.ts'
import type { Lease } from '../../src/event-log/leases.ts'
import { reconcileLane } from '../../src/transactions/reconcile-lanes.ts'

const LANE = { chainId: 1, address: `0x7${'a'.repeat(39)}` }
const CONFLICT = new StreamConflict('transaction-tx_1')
const NONCE = new UniqueRuleBroken('transactions_nonce_once')

/** Each comparison meets the next of these errors, and none afterwards. */
function stage(errors: readonly Error[]) {
  let compared = 0
  const names: string[] = []
  const lease = { renew: async () => true, during: (work: () => unknown) => work(), release: async () => 'released' }
  const ctx: Parameters<typeof reconcileLane>[0] = {
    leases: {
      async acquire(name) {
        names.push(name)
        return lease as unknown as Lease
      },
    },
    lanes: { waiting: async () => [] },
    compareWith: async () => async () => {
      const error = errors[compared]
      compared += 1
      if (error !== undefined) throw error
      return { held: null, unclear: [], from: 0 }
    },
    pauseOnConflict: async () => undefined,
  }
  return { names, compared: () => compared, reconcile: () => reconcileLane(ctx, LANE) }
}

t.test('a lane is compared again after a signer recorded a request first, or gave the nonce', async (t) => {
  const { reconcile, compared, names } = stage([CONFLICT, NONCE, CONFLICT])
  t.match(await reconcile(), { outcome: 'compared', reason: null })
  t.equal(compared(), 4)
  t.strictSame(names, [`sign-reconcile-1-${LANE.address}`], 'the lease is none of a signer')
})

t.test(
  'a lane that changes all the time is busy, and so is one whose lease was lost: no error ends the command',
  async (t) => {
    for (const errors of [Array<Error>(1_000).fill(CONFLICT), [new FenceLost('sign-reconcile')]])
      t.match(await stage(errors).reconcile(), { outcome: 'busy', reason: /Another process records for the lane/ })
  },
)

t.test('any other error is told', async (t) => {
  await t.rejects(stage([new TypeError('a defect')]).reconcile(), TypeError)
})
