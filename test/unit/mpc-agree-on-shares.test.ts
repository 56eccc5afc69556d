/** All parties begin a refresh with shares of one generation, or none of them begins. */
import t from 'tap'
import { agreeOnShares } from '../../src/keys/mpc/agree-on-shares.ts'
import type { RefusalError } from '../../src/keys/mpc/refusal-error.ts'
import { Stalled } from '../../src/keys/mpc/round-table.ts'
import { encodeClaims } from '../../src/keys/mpc/share-messages.ts'

type View = { readonly held: readonly string[]; readonly named: string | null; readonly attempt?: string }
type Sent = { readonly from: number; readonly to: number; readonly round: number; readonly payload: Uint8Array }

/** @param lie replaces a payload */
function begin(
  views: readonly View[],
  lie: (sent: Sent) => Uint8Array | Error = ({ payload }) => payload,
): Promise<string>[] {
  const mail = new Map<string, (payload: Uint8Array | Error) => void>()
  const boxes = new Map<string, Promise<Uint8Array | Error>>()
  const numbers = views.map((_, index) => index + 1)
  for (const from of numbers)
    for (const to of numbers)
      for (const round of [1, 2])
        boxes.set(`${from} ${to} ${round}`, new Promise((resolve) => mail.set(`${from} ${to} ${round}`, resolve)))
  return views.map(async ({ held, named, attempt = 'rfr_9' }, index) => {
    const me = index + 1
    const others = numbers.filter((party) => party !== me)
    const table = {
      send: (round: number, to: number, payload: Uint8Array) =>
        mail.get(`${me} ${to} ${round}`)?.(lie({ from: me, to, round, payload })),
      async gather(round: number) {
        const payloads = new Map<number, Uint8Array>()
        for (const from of others) {
          const payload = await boxes.get(`${from} ${me} ${round}`)
          if (payload instanceof Error) throw payload
          if (payload !== undefined) payloads.set(from, payload)
        }
        return payloads
      },
    }
    return agreeOnShares({
      key: { keyId: 'mpk', refreshId: named },
      begin: { refreshId: attempt, repaired: null },
      held,
      others,
      table,
    }).catch(({ refusal }: RefusalError) => refusal.kind)
  })
}

const agree = (...asked: Parameters<typeof begin>) => Promise.all(begin(...asked))

t.test('they begin with the shares that the log names, where all have these', async (t) => {
  const view = { held: ['generated', 'rfr_1', 'rfr_2'], named: 'rfr_1' }
  t.strictSame(await agree([view, { ...view, held: ['rfr_1'] }, view]), ['rfr_1', 'rfr_1', 'rfr_1'])
})

t.test('where one does not have these, they begin with the newest ones that all have', async (t) => {
  const named = 'rfr_3'
  const views = [
    { held: ['generated', 'rfr_1', 'rfr_3'], named },
    { held: ['generated', 'rfr_1', 'rfr_2'], named },
    { held: ['generated', 'rfr_1'], named },
  ]
  t.strictSame(await agree(views), ['rfr_1', 'rfr_1', 'rfr_1'])
})

t.test('where there are none, the party that lost its share says so', async (t) => {
  const named = 'rfr_1'
  const views = [
    { held: ['rfr_1'], named },
    { held: [], named },
  ]
  t.strictSame(await agree(views), ['refused', 'share_missing'])
})

t.test('parties that read the log before and after it named new shares do not mix them', async (t) => {
  const held = ['generated', 'rfr_1']
  const views = [
    { held, named: null },
    { held, named: 'rfr_1' },
    { held, named: 'rfr_1' },
  ]
  t.strictSame(await agree(views), ['refused', 'refused', 'refused'])
})

t.test('parties that were told different ids of an attempt do not begin', async (t) => {
  const view = { held: ['generated'], named: null }
  t.strictSame(await agree([view, { ...view, attempt: 'rfr_8' }, view]), ['refused', 'refused', 'refused'])
})

t.test('a party that tells the others different things makes none of them begin', async (t) => {
  const view = { held: ['generated', 'rfr_1'], named: 'rfr_1' }
  const outcome = await agree([view, view, view], ({ from, to, round, payload }) =>
    from === 3 && to === 1 && round === 1 ? encodeClaims(['generated']) : payload,
  )
  t.strictSame(outcome.slice(0, 2), ['refused', 'refused'])
})

t.test('a party that gives up, or sends nothing, ends it', async (t) => {
  const view = { held: ['generated'], named: null }
  const first = (answer: Uint8Array | Error) =>
    begin([view, view], ({ from, payload }) => (from === 2 ? answer : payload))
  t.equal(await first(Buffer.from([255, 255, 255, 255]))[0], 'given_up')
  t.equal(await first(new Stalled(2, 'it sent nothing'))[0], 'stalled')
})
