/**
 * What a corrupt party that colludes with the coordinator learns about the others. Each OT message can contain a guess
 * of one bit of the receiver's secret: a right guess passes the check like an honest message, a wrong one fails it.
 * Either outcome reveals a bit.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { encodeMessage } from '../../src/keys/mpc/message.ts'
import { decodePayloads, encodePayloads } from '../../src/keys/mpc/payloads.ts'
import { type ItemOutcome, KIND, type SigningItem } from '../../src/keys/mpc/protocol.ts'
import { createRandom } from '../support/load-random.ts'
import { changedChannel, type Outgoing } from '../support/mpc-channel-faults.ts'
import { withMpcTable } from '../support/mpc-table.ts'

const HONEST = 1
const CORRUPT = 3
/** Inside the matrix of the OT extension, in the first message of a signature. */
const IN_OT_MATRIX = 9_000
/** Per key: one guess more than the bits of its share of the secret. */
const GUESSES = 257
/** The outcomes that may leave a party: the guesses that passed before the first failed one, and that one. */
const MOST_BITS = 20
/** Distribution of the guesses: instances per session. */
const SHAPES = [1, 8, 1]

/** The party is overloaded. */
const AGAIN: ReadonlySet<string> = new Set(['busy', 'unavailable'])

const seed = Number(process.env.MPC_SEED ?? Date.now() % 1_000_000)
const random = createRandom(seed)
/** What the running attack sends and observes. */
let attack = { keyId: '', items: 1, passes: 0, sentAfterBan: 0, unkept: 0 }

const payloadsOf = ({ message }: Outgoing) => decodePayloads(message.payload, attack.items) ?? []
const isRound = ({ message, to }: Outgoing, round: number, party: number) =>
  message.kind === KIND.signingRound && message.round === round && to === `party-${party}`

/** Half of its guesses are right. */
function guess(outgoing: Outgoing): readonly Uint8Array[] {
  if (!isRound(outgoing, 1, HONEST)) return [outgoing.frame]
  const payloads = payloadsOf(outgoing).map((payload) => {
    if (payload === null || random.chance(0.5)) return payload
    const copy = Uint8Array.from(payload)
    copy[IN_OT_MATRIX] = (copy[IN_OT_MATRIX] ?? 0) ^ 1
    return copy
  })
  return [encodeMessage({ ...outgoing.message, payload: encodePayloads(payloads) })]
}

/** The answer to a first message is the outcome of its check. */
function watch(outgoing: Outgoing): readonly Uint8Array[] {
  if (isRound(outgoing, 2, CORRUPT)) {
    const payloads = payloadsOf(outgoing)
    const passed = payloads.filter((payload) => payload !== null).length
    attack.passes += passed
    if (isBanned()) attack.sentAfterBan += passed
    else if (passed < payloads.length) attack.unkept += 1
  }
  return [outgoing.frame]
}

const table = await withMpcTable(t, {
  keys: SHAPES.length,
  connect: new Map([
    [HONEST, changedChannel(HONEST, watch)],
    [CORRUPT, changedChannel(CORRUPT, guess)],
  ]),
})
const isBanned = () =>
  readdirSync(join(table.directoryOf(HONEST), 'bans')).some((name) => name.startsWith(`${attack.keyId}.`))

/**
 * Requests signatures in parallel sessions, retrying when the party is busy, until it is banned. Returns the failed
 * checks.
 */
async function guessAll(keyId: string, items: number): Promise<number> {
  attack = { keyId, items, passes: 0, sentAfterBan: 0, unkept: 0 }
  let left = Math.ceil(GUESSES / items)
  let failed = 0
  for (let wave = 0; left > 0 && !isBanned(); wave += 1) {
    const answers = await Promise.all(
      Array.from({ length: left }, (_, session) => ask(itemsOf(keyId, items, `sig_${wave}_${session}`))),
    )
    failed += answers.reduce((sum, outcome) => sum + failedChecks(outcome), 0)
    left = answers.filter((outcome) => outcome.some((item) => AGAIN.has(kindOf(item)))).length
  }
  return failed
}

async function ask(items: readonly SigningItem[]): Promise<readonly ItemOutcome[]> {
  const signers = [HONEST, CORRUPT]
  const begin = { ceremony: 'sign', signers, finisher: CORRUPT, items } as const
  return (await table.coordinator.ask(signers, begin, { timeoutMs: 120_000 })).get(HONEST) ?? []
}

function itemsOf(keyId: string, count: number, name: string): SigningItem[] {
  return Array.from({ length: count }, (_, index) => ({
    keyId,
    intent: { kind: 'signature', id: `${name}_${index}` },
    subject: { kind: 'message', message: Buffer.from(name) },
  }))
}

const kindOf = (item: ItemOutcome) => (item.ok ? 'signed' : item.refusal.kind)

/** When all items of a session get the same answer, it does not show which item's own check failed. */
function failedChecks(outcome: readonly ItemOutcome[]): number {
  const cheated = outcome.filter((item) => kindOf(item) === 'cheated').length
  return cheated === outcome.length ? Math.min(cheated, 1) : cheated
}

t.test(`a corrupt party learns a handful of bits before it is banned, not ${GUESSES}`, async (t) => {
  t.comment(`seed ${seed}`)
  const learnt: number[] = []
  for (const [index, items] of SHAPES.entries()) {
    const failed = await guessAll(table.keyIds[index] ?? '', items)
    const bits = attack.passes + failed
    learnt.push(bits)
    t.comment(`${items} in a session: ${attack.passes} passed, ${failed} failed`)
    t.ok(bits > 0 && bits <= MOST_BITS, `the party learns ${bits} bits`)
    t.equal(failed, 1, 'the first failed check ends the attack')
    t.strictSame([attack.unkept, attack.sentAfterBan], [0, 0], 'the ban is on disk before any message is sent')
  }
  t.comment(`bits learnt in an epoch: ${learnt.join(', ')}`)
  const after = await ask(itemsOf(attack.keyId, attack.items, 'sig_after'))
  t.strictSame(after.map(kindOf), ['banned'])
})

t.end()
