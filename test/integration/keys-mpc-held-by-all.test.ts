/**
 * Parties remove shares only when all of them hold those that the log names: whatever one of them says, whatever the log
 * names next, the others always have a generation in common.
 */
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import type { JointKey } from '../../src/keys/mpc/ceremonies.ts'
import { createHeldByAll, type HeldByAll } from '../../src/keys/mpc/held-by-all.ts'
import { type Message, readMessage } from '../../src/keys/mpc/message.ts'
import { partyName, partyNumber } from '../../src/keys/mpc/party-names.ts'
import { KIND } from '../../src/keys/mpc/protocol.ts'
import { settleShares } from '../../src/keys/mpc/settle-shares.ts'
import { openShareStore } from '../../src/keys/mpc/share-store.ts'
import { freshKek, temporaryDirectory } from '../support/mpc-processes.ts'

const keyId = 'mpk_1'
const facts = { threshold: 2, parties: 3, publicKey: `0x02${'ab'.repeat(32)}`, address: `0x${'12'.repeat(20)}` }

/** @param deliver passes a message on, or not */
async function table(
  t: Test,
  held: readonly (readonly string[])[],
  deliver: (message: Message, pass: () => void) => void = (_message, pass) => pass(),
) {
  const log: { named: string | null } = { named: 'rfr_1' }
  const away = new Set<number>()
  const parties = new Map<number, HeldByAll>()
  const keyOf = (): JointKey => ({
    ...facts,
    keyId,
    parties: held.map((_, index) => index + 1),
    epoch: 1,
    refreshId: log.named,
    banned: [],
    apart: [],
  })
  const jointKeysOf = async () => new Map([[keyId, keyOf()]])
  const seats = await Promise.all(
    held.map(async (generations, index) => {
      const me = index + 1
      const store = await openShareStore({ directory: await temporaryDirectory(t), party: me, kek: freshKek() })
      for (const generation of generations) await store.prepare(keyId, generation, randomBytes(9), facts)
      const channel = {
        connected: () =>
          held
            .map((_, other) => other + 1)
            .filter((party) => !away.has(party))
            .map(partyName),
        send(to: string, frame: Uint8Array) {
          const message = readMessage(frame, partyName(me), to)
          if ('refused' in message) throw new Error(message.refused)
          deliver(message, () => void parties.get(partyNumber(to) ?? 0)?.receive(message))
        },
      }
      const heldByAll = createHeldByAll({ me, channel, store, jointKeysOf, answerMs: 200 })
      parties.set(me, heldByAll)
      return { store, heldByAll, settle: () => settleShares({ store, jointKeysOf, heldByAll }, [keyId]) }
    }),
  )
  return { log, away, seats, keyOf, held: () => seats.map(({ store }) => store.generationsOf(keyId)) }
}

t.test('older shares are removed once every party holds those that the log names', async (t) => {
  const { seats, held } = await table(t, [
    ['generated', 'rfr_1'],
    ['generated', 'rfr_1'],
    ['rfr_1', 'rfr_2'],
  ])
  await Promise.all(seats.map(({ settle }) => settle()))
  t.strictSame(held(), [['rfr_1'], ['rfr_1'], ['rfr_1', 'rfr_2']])
})

t.test('a party without them, one that is away, and one to which the log names others, delay it', async (t) => {
  const all = [
    ['generated', 'rfr_1'],
    ['generated', 'rfr_1'],
    ['generated', 'rfr_1'],
  ]
  const lacking = await table(t, [...all.slice(1), ['generated']])
  await Promise.all(lacking.seats.map(({ settle }) => settle()))
  t.strictSame(lacking.held(), [...all.slice(1), ['generated']])

  const { seats, held, away } = await table(t, all)
  away.add(3)
  await seats[0]?.settle()
  t.strictSame(held(), all)
  away.delete(3)
  await seats[0]?.settle()
  t.strictSame(held()[0], ['rfr_1'])

  const silent = await table(t, all, ({ sender }, pass) => (sender === partyName(3) ? undefined : pass()))
  await silent.seats[0]?.settle()
  t.strictSame(silent.held(), all)

  const old = await table(t, all)
  const before = old.keyOf()
  old.log.named = null
  t.notOk(await old.seats[0]?.heldByAll.removing(before, async () => void t.fail('it removed shares')))
})

t.test('a yes of a party that was not asked, or of one twice, does not count', async (t) => {
  const all = [['generated', 'rfr_1'], ['generated', 'rfr_1'], ['generated']]
  const { seats, held } = await table(t, all, (message, pass) => {
    pass()
    // The second party answers for the third one too.
    if (message.kind === KIND.held && message.sender === partyName(2)) pass()
  })
  await seats[0]?.settle()
  t.strictSame(held(), all)
})

t.test('a party that has told another that it holds later shares ends a removal for earlier ones', async (t) => {
  let release: () => void = () => undefined
  const all = [
    ['rfr_1', 'rfr_2'],
    ['rfr_1', 'rfr_2'],
    ['rfr_1', 'rfr_2'],
  ]
  const { seats, held, log, keyOf } = await table(t, all, (message, pass) => {
    const isHeldBack = message.receiver === partyName(1) && message.sender === partyName(3) && log.named === 'rfr_1'
    if (isHeldBack && message.kind === KIND.held) release = pass
    else pass()
  })
  const [first, second] = seats
  // It would remove the later shares too, as abandoned ones.
  const removal = first?.heldByAll.removing(keyOf(), () => first.store.drop(keyId, 'rfr_2'))
  await new Promise((resolve) => setTimeout(resolve, 50))
  log.named = 'rfr_2'
  await second?.settle()
  t.strictSame(held()[1], ['rfr_2'])
  release()
  t.equal(await removal, false)
  t.strictSame(held()[0], ['rfr_1', 'rfr_2'])
})
