/** When a tenant's use is counted, and that one API process never exceeds the limit. */
import fc from 'fast-check'
import t from 'tap'
import { createTenantRates } from '../../src/http/tenant-rates.ts'
import { type Admission, createAllowances } from '../../src/quotas/allowances.ts'

/** A database that counts when it is queried, and responds when the test lets it. */
function withStore(recorded = 0) {
  const store = { recorded, counts: 0, nowMs: 0, held: [] as (() => void)[], hold: false }
  const allowances = createAllowances({
    clock: () => store.nowMs,
    count: async () => {
      store.counts += 1
      const seen = store.recorded
      if (store.hold) await new Promise<void>((resolve) => store.held.push(resolve))
      return seen
    },
  })
  return { store, admit: async (limit: number) => allowances.admit('acme', 'wallets', limit) }
}

function taken(admission: Admission): (recorded: boolean) => void {
  if (!admission.admitted) throw new Error('refused')
  return admission.settle
}

t.test('a count serves the requests of a second, and no request is refused by an old one', async (t) => {
  const { store, admit } = withStore()
  for (let n = 0; n < 5; n += 1) {
    taken(await admit(5))(true)
    store.recorded += 1
  }
  t.equal(store.counts, 1)
  t.strictSame(await admit(5), { admitted: false, used: 5 })
  store.recorded = 4
  store.nowMs = 99
  t.equal((await admit(5)).admitted, false)
  store.nowMs = 100
  taken(await admit(5))(true)
  t.equal(store.counts, 2)
  store.nowMs = 1_101
  taken(await admit(6))(true)
  t.equal(store.counts, 3)
})

t.test('a request refused for another reason is released from the count at once', async (t) => {
  const { admit, store } = withStore()
  for (let n = 0; n < 10; n += 1) taken(await admit(1))(false)
  taken(await admit(1))(true)
  t.equal((await admit(1)).admitted, false)
  t.equal(store.counts, 1)
})

t.test('a slow count is repeated rarely, and waiting requests share it', async (t) => {
  const { store, admit } = withStore()
  store.hold = true
  const both = Promise.all([admit(2), admit(2), admit(2)])
  await new Promise(setImmediate)
  t.equal(store.counts, 1)
  store.nowMs = 500
  store.held[0]?.()
  t.strictSame(
    (await both).map(({ admitted }) => admitted),
    [true, true, false],
  )
  store.nowMs = 10_000
  t.equal((await admit(3)).admitted, true, 'a count that took 500 ms is reused for 10 s')
  t.equal(store.counts, 1)
})

t.test(
  'one process never lets more through than the limit, in whatever order requests begin, end and are counted',
  (t) =>
    fc
      .assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 6 }),
          fc.array(fc.constantFrom('ask', 'record', 'fail', 'commit', 'tick', 'answer'), { maxLength: 60 }),
          async (limit, steps) => {
            const { store, admit } = withStore()
            store.hold = true
            const open: ((recorded: boolean) => void)[] = []
            /** Committed, while the handler is still running. */
            const committed: ((recorded: boolean) => void)[] = []
            for (const step of steps) {
              if (step === 'ask')
                void admit(limit).then((admission) => admission.admitted && open.push(admission.settle))
              if (step === 'fail') open.pop()?.(false)
              if (step === 'commit' && open[0] !== undefined) {
                committed.push(...open.splice(0, 1))
                store.recorded += 1
              }
              if (step === 'record') committed.pop()?.(true)
              if (step === 'tick') store.nowMs += 400
              if (step === 'answer') store.held.shift()?.()
              await new Promise(setImmediate)
              if (store.recorded + open.length > limit)
                throw new Error(`${store.recorded} and ${open.length} of ${limit}`)
            }
          },
        ),
        { numRuns: 300 },
      )
      .then(() => t.pass()),
)

t.test('a tenant regains bytes with time, up to a burst', async (t) => {
  let nowMs = 0
  const rates = createTenantRates(() => nowMs)
  t.equal(rates.secondsInDebt('acme', 100), 0)
  rates.charge('acme', 100, 1_250)
  t.equal(rates.secondsInDebt('acme', 100), 3)
  t.equal(rates.secondsInDebt('globex', 100), 0)
  nowMs = 2_600
  t.equal(rates.secondsInDebt('acme', 100), 0)
  nowMs = 1_000_000
  rates.charge('acme', 100, 1_001)
  t.equal(rates.secondsInDebt('acme', 100), 1)
})
